#include "semfuse/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/nearest_word.h"
#include "model/forward_pass.h"
#include "model/network.h"
#include "semfuse/error.h"

namespace semfuse {

std::string_view to_string(AttentionMask mask) {
  return mask == AttentionMask::causal ? "causal" : "bidirectional";
}

struct LanguageModel::State {
  ModelOptions options;
  Vocabulary vocabulary;
  FeatureBank bank;
  Network network;
  ParameterBlock weights;
  std::vector<bool> seen;
};

namespace {

const ModelOptions& checked(const ModelOptions& options, const FeatureOptions& features) {
  const auto require = [](bool good, const char* rule) {
    if (!good) throw Error(fmt::format("model options: {}", rule));
  };
  require(options.heads > 0 && options.layers > 0 && options.feed_forward > 0,
          "layers, heads and feed_forward must be above 0");
  require(options.width > 0 && options.width % options.heads == 0 && options.width % 2 == 0,
          "width must be even and a multiple of heads");
  require(options.dropout >= 0.0 && options.dropout < 1.0, "dropout must be in [0, 1)");
  require(!options.fusion || options.feature_head > 0, "feature_head must be above 0");
  require(options.fusion || (!options.output_features && !options.open_vocabulary),
          "output_features and open_vocabulary need fusion");
  require(options.fusion || !features.learn_kernel, "learn_kernel needs fusion");
  require(options.fusion || options.knobs.empty(), "knobs need fusion");
  check_knobs(options.knobs);
  return options;
}

}  // namespace

LanguageModel::LanguageModel(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank, std::uint64_t seed) {
  const std::size_t vocab_size = vocabulary.size();
  const std::size_t num_features = options.fusion ? bank.size() : 0;
  const FeatureOptions features = bank.options();
  std::vector<float> word_features;
  if (options.fusion) {
    const FeatureMatrix rows =
        features.learn_kernel ? bank.ungraded().word_rows(vocabulary) : bank.word_rows(vocabulary);
    word_features = rows.values;
  }
  state_.reset(new State{.options = checked(options, features),
                         .vocabulary = std::move(vocabulary),
                         .bank = std::move(bank),
                         .network{options, vocab_size, num_features, std::move(word_features), features},
                         .weights = {},
                         .seen = std::vector<bool>(vocab_size, true)});
  change_weights([&](ParameterBlock& weights) { weights = state_->network.initial_weights(seed); });
}

LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;
LanguageModel::~LanguageModel() = default;

const ModelOptions& LanguageModel::options() const {
  return state_->options;
}
const Vocabulary& LanguageModel::vocabulary() const {
  return state_->vocabulary;
}
const FeatureBank& LanguageModel::feature_bank() const {
  return state_->bank;
}
const Network& LanguageModel::network() const {
  return state_->network;
}
const ParameterBlock& LanguageModel::weights() const {
  return state_->weights;
}
void LanguageModel::change_weights(const std::function<void(ParameterBlock&)>& change) {
  change(state_->weights);
  if (const auto& layer = network().memberships()) state_->bank.set_memberships(layer->memberships(weights()));
}
std::size_t LanguageModel::parameter_count() const {
  return state_->network.layout().parameter_count();
}

std::vector<NamedParameter> LanguageModel::parameters() const {
  std::vector<NamedParameter> result;
  for (const ParameterInfo& info : state_->network.layout().entries()) {
    result.push_back({.name = info.name, .shape = info.shape, .values = {state_->weights.vector(info), info.size}});
  }
  return result;
}

void LanguageModel::set_parameter(std::string_view name, std::span<const float> values) {
  const ParameterInfo* info = state_->network.layout().find(name);
  if (!info) throw Error(fmt::format("the model has no parameter \"{}\"; parameters() lists them", name));
  if (values.size() != info->size) {
    throw Error(fmt::format("parameter \"{}\" takes {} values, got {}", name, info->size, values.size()));
  }
  change_weights([&](ParameterBlock& weights) { std::copy(values.begin(), values.end(), weights.vector(*info)); });
}

std::vector<float> LanguageModel::logits(const Sentence& sentence) const {
  const std::vector<TokenId> ids = vocabulary().encode(sentence);
  const std::size_t length = ids.size() - 1;  // <eos> is predicted, not read.
  BatchPacker packer(network().num_features());
  std::vector<float> features;
  if (network().num_features() > 0) {
    features = feature_bank().prefix_rows(sentence).values;
  }
  packer.add(std::span(ids).first(length), std::span(ids).last(length), features);
  const Batch batch = packer.take();
  ThreadPool pool(1);
  ForwardPass pass(network(), pool);
  pass.set_weights(weights());
  std::vector<float> result(length * vocabulary().size());
  pass.run(batch, [&](const Shard& shard, Matrix shard_logits, Matrix) {
    for (std::size_t t = 0; t < shard.num_tokens; ++t) {
      std::copy_n(shard_logits.row(t), vocabulary().size(),
                  result.begin() + static_cast<std::ptrdiff_t>((shard.first_token + t) * vocabulary().size()));
    }
  });
  return result;
}

const std::vector<bool>& LanguageModel::seen() const {
  return state_->seen;
}

void LanguageModel::set_seen(std::vector<bool> seen) {
  if (seen.size() != vocabulary().size()) {
    throw Error(fmt::format("there are {} flags of seen words for {} entries of the vocabulary", seen.size(),
                            vocabulary().size()));
  }
  for (const TokenId special : {Vocabulary::kPad, Vocabulary::kBos, Vocabulary::kEos}) {
    if (!seen[static_cast<std::size_t>(special)]) {
      throw Error(
          fmt::format("{} is not among the seen words; special entries always are", vocabulary().word(special)));
    }
  }
  const Matrix table = state_->weights.matrix(network().layout()[network().token_table()]);
  for (std::size_t id = 0; id < seen.size(); ++id) {
    if (!seen[id]) std::fill_n(table.row(id), table.cols(), 0.0f);
  }
  state_->seen = std::move(seen);
}

LanguageModel LanguageModel::with_words(const std::vector<LexiconEntry>& words) const {
  if (!options().output_features) {
    throw Error(
        "words can be added to a model whose output rows read features, and this one's do not; train with the preset "
        "semfuse, or with model.output_features=true");
  }
  std::vector<std::string> entries = vocabulary().entries();
  std::vector<LexiconEntry> lexicon = feature_bank().lexicon().entries();
  for (const LexiconEntry& word : words) {
    if (vocabulary().find(word.word)) {
      throw Error(fmt::format("the model knows \"{}\" already; leave it out", word.word));
    }
    entries.push_back(word.word);
    const LexiconEntry* known = feature_bank().lexicon().find(word.word);
    if (known == nullptr) {
      lexicon.push_back(word);
    } else if (!(*known == word)) {
      throw Error(
          fmt::format("the model's lexicon describes \"{}\" differently (a {}); use its description or another "
                      "word",
                      word.word, to_string(known->word_class)));
    }
  }
  LanguageModel larger(options(), Vocabulary(std::move(entries)),
                       FeatureBank(Lexicon(std::move(lexicon)), feature_bank().options()), /*seed=*/0);
  std::vector<bool> larger_seen = seen();
  larger_seen.resize(larger.vocabulary().size(), false);
  larger.set_seen(std::move(larger_seen));
  // Every parameter is the same but the token table, whose first rows are.
  larger.change_weights([&](ParameterBlock& larger_weights) {
    for (const NamedParameter& parameter : parameters()) {
      const ParameterInfo* info = larger.network().layout().find(parameter.name);
      std::copy(parameter.values.begin(), parameter.values.end(), larger_weights.vector(*info));
    }
  });
  return larger;
}

std::vector<std::vector<TokenId>> LanguageModel::adjective_classes() const {
  std::vector<std::vector<TokenId>> classes;
  for (const int sign : {+1, -1}) {
    std::vector<TokenId> ids;
    for (const std::string& word : feature_bank().lexicon().words(WordClass::adjective, sign)) {
      if (const auto id = vocabulary().find(word)) ids.push_back(*id);
    }
    classes.push_back(std::move(ids));
  }
  return classes;
}

}  // namespace semfuse
