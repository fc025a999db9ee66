#include "semfuse/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/nearest_word.h"
#include "features/class_mass.h"
#include "features/feature_bank_access.h"
#include "features/knob_index.h"
#include "features/word_vectors.h"
#include "io/quoted_text.h"
#include "model/forward_pass.h"
#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/steering.h"

namespace semfuse {

std::string_view to_string(AttentionMask mask) {
  return mask == AttentionMask::causal ? "causal" : "bidirectional";
}

std::string_view to_string(NormPlace norm) {
  return norm == NormPlace::post ? "post" : "pre";
}

namespace {

// With vectors for the words that are described as being like others.
std::shared_ptr<const WordVectors> vectors_like(const std::shared_ptr<const WordVectors>& vectors,
                                                const std::vector<LexiconEntry>& words) {
  std::vector<std::string> described;
  std::vector<float> rows;
  for (const LexiconEntry& word : words) {
    if (word.like.empty()) continue;
    if (!vectors) {
      throw Error(
          fmt::format("\"{}\" is described as like another word, and the model has no word vectors; train with "
                      "features.vectors, or leave the column like out",
                      word.word));
    }
    std::vector<float> sum(vectors->width());
    for (const std::string& other : word.like) {
      if (!vectors->knows(other)) {
        throw Error(
            fmt::format("\"{}\" is described as like {}, which the word vectors know nothing of; name another "
                        "word",
                        word.word, quoted_text(other)));
      }
      const std::vector<float> row = vectors->vector_of(other);
      for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += row[j];
    }
    described.push_back(word.word);
    rows.insert(rows.end(), sum.begin(), sum.end());
  }
  if (described.empty()) return vectors;
  return std::make_shared<const WordVectors>(vectors->with(described, rows));
}

}  // namespace

namespace {

// Of tokens that no text had, a head knows what their output rows say.
void add_tokens(SteeringHead& head, std::size_t vocab_size) {
  for (SteeringHead::Tensor& tensor : head.tensors) {
    if (tensor.name != "token.bias" && tensor.name != "words" && tensor.name != "ends") continue;
    tensor.shape = {vocab_size};
    tensor.values.resize(vocab_size);
  }
}

}  // namespace

struct LanguageModel::State {
  ModelOptions options;
  Vocabulary vocabulary;
  FeatureBank bank;
  std::optional<Tokenizer> tokenizer;
  std::optional<Network> network;  // None of a pretrained model.
  ParameterBlock weights;
  std::vector<bool> seen;
  KnobSupport knob_support = {};
  Calibration calibration = {};
  KnobHeads heads = {};
  std::optional<TokenFeatures> features = {};  // Refers to the state.
  std::shared_ptr<const PretrainedNetwork> pretrained = {};
};

namespace {

// What only a network of our own can do.
[[noreturn]] void refuse_pretrained() {
  throw Error("the model was imported and is run as it is; this is for models that semfuse has trained");
}

}  // namespace

void ModelAccess::check(const ModelOptions& options, const FeatureOptions& features) {
  const auto require = [](bool good, const char* rule) {
    if (!good) throw Error(fmt::format("model options: {}", rule));
  };
  require(options.heads > 0 && options.layers > 0 && options.feed_forward > 0,
          "layers, heads and feed_forward must be above 0");
  require(options.width > 0 && options.width % options.heads == 0 && options.width % 2 == 0,
          "width must be even and a multiple of heads");
  require(!options.distance_bias || options.attention == AttentionMask::causal, "distance_bias needs causal attention");
  require(options.dropout >= 0.0 && options.dropout < 1.0, "dropout must be in [0, 1)");
  require(!options.fusion || options.feature_head > 0, "feature_head must be above 0");
  require(options.fusion || (!options.output_features && !options.open_vocabulary),
          "output_features and open_vocabulary need fusion");
  require(options.fusion || !features.learn_kernel, "learn_kernel needs fusion");
  require(options.fusion || options.knobs.empty(), "knobs need fusion");
  const bool natural = features.bank == FeatureSet::natural;
  require(!natural || !features.learn_kernel, "learn_kernel is for the features of the synthetic corpus");
  require(!natural || !options.share_class_mass, "share_class_mass is for the features of the synthetic corpus");
  check_knobs(options.knobs);
}

// Weights of 0.
std::unique_ptr<LanguageModel::State> LanguageModel::make_state(const ModelOptions& options, Vocabulary vocabulary,
                                                                FeatureBank bank, std::optional<Tokenizer> tokenizer) {
  const FeatureOptions features = bank.options();
  ModelAccess::check(options, features);
  const std::size_t vocab_size = vocabulary.size();
  const std::size_t num_features = options.fusion ? bank.size() : 0;
  std::vector<float> word_features;
  std::size_t num_vector_columns = 0;
  if (options.fusion) {
    num_vector_columns = FeatureBankAccess::num_vector_columns(bank);
    word_features =
        FeatureBankAccess::token_rows(features.learn_kernel ? FeatureBankAccess::ungraded(bank) : bank, vocabulary)
            .values;
  }
  std::unique_ptr<State> state(new State{.options = options,
                                         .vocabulary = std::move(vocabulary),
                                         .bank = std::move(bank),
                                         .tokenizer = std::move(tokenizer),
                                         .network = std::nullopt,
                                         .weights = {},
                                         .seen = std::vector<bool>(vocab_size, true)});
  state->network.emplace(options, vocab_size, num_features, std::move(word_features), features, num_vector_columns);
  state->weights = ParameterBlock(state->network->layout());
  state->features.emplace(state->bank, state->vocabulary, state->tokenizer ? &*state->tokenizer : nullptr);
  return state;
}

LanguageModel::LanguageModel(std::unique_ptr<State> state) : state_(std::move(state)) {}

LanguageModel::LanguageModel(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank, std::uint64_t seed)
    : LanguageModel(make_state(options, std::move(vocabulary), std::move(bank), {})) {
  draw_weights(seed);
}

LanguageModel::LanguageModel(const ModelOptions& options, Tokenizer tokenizer, FeatureBank bank, std::uint64_t seed)
    : LanguageModel(make_state(options, tokenizer.vocabulary(), std::move(bank), tokenizer)) {
  draw_weights(seed);
}

void LanguageModel::draw_weights(std::uint64_t seed) {
  ModelAccess::change_weights(
      *this, [&](ParameterBlock& weights) { weights = ModelAccess::network(*this).initial_weights(seed); });
}

LanguageModel ModelAccess::unfilled(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank,
                                    std::optional<Tokenizer> tokenizer) {
  return LanguageModel(
      LanguageModel::make_state(options, std::move(vocabulary), std::move(bank), std::move(tokenizer)));
}

LanguageModel ModelAccess::pretrained(const ModelOptions& options, Vocabulary vocabulary,
                                      std::optional<Tokenizer> tokenizer,
                                      std::shared_ptr<const PretrainedNetwork> network, FeatureBank bank) {
  const std::size_t vocab_size = vocabulary.size();
  std::unique_ptr<LanguageModel::State> state(new LanguageModel::State{.options = options,
                                                                       .vocabulary = std::move(vocabulary),
                                                                       .bank = std::move(bank),
                                                                       .tokenizer = std::move(tokenizer),
                                                                       .network = std::nullopt,
                                                                       .weights = {},
                                                                       .seen = std::vector<bool>(vocab_size, true),
                                                                       .pretrained = std::move(network)});
  if (const ParameterLayout* beside = state->pretrained->layout()) {
    state->weights = ParameterBlock(*beside);
    state->features.emplace(state->bank, state->vocabulary, state->tokenizer ? &*state->tokenizer : nullptr);
  }
  return LanguageModel(std::move(state));
}

const PretrainedNetwork* ModelAccess::pretrained(const LanguageModel& model) {
  return model.state_->pretrained.get();
}

std::size_t ModelAccess::num_features(const LanguageModel& model) {
  return model.state_->network ? model.state_->network->num_features() : model.state_->pretrained->num_features();
}

const ParameterLayout& ModelAccess::layout(const LanguageModel& model) {
  if (model.state_->network) return model.state_->network->layout();
  const ParameterLayout* beside = model.state_->pretrained->layout();
  if (beside == nullptr) refuse_pretrained();
  return *beside;
}

KeyValueCache ModelAccess::empty_cache(const LanguageModel& model) {
  if (model.state_->pretrained) return model.state_->pretrained->empty_cache();
  return {model.options().layers, model.options().width};
}

const Network& ModelAccess::network(const LanguageModel& model) {
  if (!model.state_->network) refuse_pretrained();
  return *model.state_->network;
}

const ParameterBlock& ModelAccess::weights(const LanguageModel& model) {
  return model.state_->weights;
}

const TokenFeatures& ModelAccess::features(const LanguageModel& model) {
  if (!model.state_->features) refuse_pretrained();
  return *model.state_->features;
}

void ModelAccess::change_weights(LanguageModel& model, const std::function<void(ParameterBlock&)>& change) {
  LanguageModel::State& state = *model.state_;
  change(state.weights);
  state.heads.clear();
  if (!state.network) return;
  if (const auto& layer = network(model).memberships()) state.bank.set_memberships(layer->memberships(state.weights));
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
const Tokenizer* LanguageModel::tokenizer() const {
  return state_->tokenizer ? &*state_->tokenizer : nullptr;
}
const FeatureBank& LanguageModel::feature_bank() const {
  return state_->bank;
}
std::size_t LanguageModel::parameter_count() const {
  if (state_->pretrained) return state_->pretrained->parameter_count();
  return state_->network->layout().parameter_count();
}

std::vector<NamedParameter> LanguageModel::parameters() const {
  std::vector<NamedParameter> result;
  for (const ParameterInfo& info : ModelAccess::layout(*this).entries()) {
    result.push_back({.name = info.name, .shape = info.shape, .values = {state_->weights.vector(info), info.size}});
  }
  return result;
}

void LanguageModel::set_parameter(std::string_view name, std::span<const float> values) {
  const ParameterInfo* info = ModelAccess::layout(*this).find(name);
  if (!info) throw Error(fmt::format("the model has no parameter \"{}\"; parameters() lists them", name));
  if (values.size() != info->size) {
    throw Error(fmt::format("parameter \"{}\" takes {} values, got {}", name, info->size, values.size()));
  }
  ModelAccess::change_weights(
      *this, [&](ParameterBlock& weights) { std::copy(values.begin(), values.end(), weights.vector(*info)); });
}

std::vector<TokenId> LanguageModel::encode(std::string_view text) const {
  std::vector<TokenId> ids;
  if (state_->tokenizer) {
    for (const Token& token : state_->tokenizer->encode(text)) ids.push_back(token.id);
    return ids;
  }
  ids = vocabulary().encode(split_words(text));
  return {ids.begin() + 1, ids.end() - 1};
}

std::string LanguageModel::decode(std::span<const TokenId> ids) const {
  if (state_->tokenizer) return state_->tokenizer->decode(ids);
  Sentence words;
  for (const TokenId id : ids) {
    if (id > Vocabulary::kEos) words.push_back(vocabulary().word(id));
  }
  return join_words(words);
}

std::vector<float> LanguageModel::logits(const Sentence& sentence) const {
  const std::vector<TokenId> ids = vocabulary().encode(sentence);
  const std::size_t length = ids.size() - 1;  // <eos> is predicted, not read.
  const Network& network = ModelAccess::network(*this);
  BatchPacker packer(network.num_features());
  std::vector<float> features;
  if (network.num_features() > 0) {
    features = state_->features->prefix_rows(std::span(ids).subspan(1, length - 1)).values;
  }
  packer.add(std::span(ids).first(length), std::span(ids).last(length), features);
  const Batch batch = packer.take();
  ThreadPool pool(1);
  ForwardPass pass(network, pool);
  pass.set_weights(state_->weights);
  std::vector<float> result(length * vocabulary().size());
  pass.run(batch, [&](const Shard& shard, Matrix shard_logits, Matrix) {
    for (std::size_t t = 0; t < shard.num_tokens; ++t) {
      std::copy_n(shard_logits.row(t), vocabulary().size(),
                  result.begin() + static_cast<std::ptrdiff_t>((shard.first_token + t) * vocabulary().size()));
    }
  });
  return result;
}

const KnobSupport& LanguageModel::knob_support() const {
  return state_->knob_support;
}

void LanguageModel::set_knob_support(KnobSupport support) {
  state_->knob_support = std::move(support);
}

const Calibration& LanguageModel::calibration() const {
  return state_->calibration;
}

void LanguageModel::set_calibration(Calibration calibration) {
  const std::vector<Knob>& knobs = options().knobs;
  for (const auto& [name, map] : calibration) {
    const std::size_t index = knob_index(knobs, name);
    if (index == knobs.size()) throw Error(fmt::format("a map is of knob {}, which the model has not", name));
    check_calibration(knobs[index], map);
    check_beside(knobs, knobs[index], map);
  }
  state_->calibration = std::move(calibration);
}

const KnobHeads& LanguageModel::heads() const {
  return state_->heads;
}

void LanguageModel::set_heads(KnobHeads heads) {
  const std::string fingerprint = heads.empty() ? "" : steering_fingerprint(*this);
  for (const auto& [name, head] : heads) {
    const std::size_t index = knob_index(options().knobs, name);
    if (index == options().knobs.size() || options().knobs[index].kind != KnobKind::probability) {
      throw Error(fmt::format("a head is of knob {}, which is no probability knob of the model", name));
    }
    if (head.method != SteeringMethod::value || head.knob != name) {
      throw Error(fmt::format("the head of knob {} is no value head of that knob", name));
    }
    if (head.model != fingerprint) throw Error(fmt::format("the head of knob {} was trained on another model", name));
  }
  state_->heads = std::move(heads);
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
  const Matrix table =
      state_->weights.matrix(ModelAccess::network(*this).layout()[ModelAccess::network(*this).token_table()]);
  for (std::size_t id = 0; id < seen.size(); ++id) {
    if (!seen[id]) std::fill_n(table.row(id), table.cols(), 0.0f);
  }
  state_->seen = std::move(seen);
  if (options().share_class_mass) {
    state_->network->set_logit_offsets(
        class_mass_offsets(FeatureBankAccess::ungraded(feature_bank()).word_rows(vocabulary()), state_->seen));
  }
}

LanguageModel LanguageModel::with_words(const std::vector<LexiconEntry>& words) const {
  if (tokenizer() != nullptr && tokenizer()->kind() != TokenizerKind::words) {
    throw Error(
        fmt::format("words can be added to a model whose tokens are words, and this one's are {}; train with "
                    "text.tokenizer=words",
                    to_string(tokenizer()->kind())));
  }
  if (!options().output_features) {
    throw Error(
        fmt::format("words can be added to a model whose output rows read features, and this one's do not; train "
                    "with the preset {}, or with model.output_features=true",
                    tokenizer() != nullptr ? "open-text" : "semfuse"));
  }
  std::vector<std::string> added;
  std::vector<LexiconEntry> lexicon = feature_bank().lexicon().entries();
  for (const LexiconEntry& word : words) {
    const std::string spaced = " " + word.word;
    if (vocabulary().find(tokenizer() != nullptr ? spaced : word.word)) {
      throw Error(fmt::format("the model knows \"{}\" already; leave it out", word.word));
    }
    if (tokenizer() != nullptr) added.push_back(spaced);
    if (!vocabulary().find(word.word)) added.push_back(word.word);
    const LexiconEntry* known = feature_bank().lexicon().find(word.word);
    LexiconEntry described = word;
    described.like.clear();  // Its vector says it.
    if (known == nullptr) {
      lexicon.push_back(std::move(described));
    } else if (!(*known == described)) {
      throw Error(
          fmt::format("the model's lexicon describes \"{}\" differently (a {}); use its description or another "
                      "word",
                      word.word, known->word_class));
    }
  }
  FeatureBank bank = FeatureBankAccess::with_vectors(feature_bank().with_lexicon(Lexicon(std::move(lexicon))),
                                                     vectors_like(FeatureBankAccess::vectors(feature_bank()), words));
  std::vector<std::string> entries = vocabulary().entries();
  entries.insert(entries.end(), added.begin(), added.end());
  std::optional<Tokenizer> larger_tokenizer;
  if (tokenizer() != nullptr) larger_tokenizer = tokenizer()->with_words(added);
  LanguageModel larger =
      ModelAccess::unfilled(options(), Vocabulary(std::move(entries)), std::move(bank), std::move(larger_tokenizer));
  std::vector<bool> larger_seen = seen();
  larger_seen.resize(larger.vocabulary().size(), false);
  larger.set_seen(std::move(larger_seen));
  larger.set_knob_support(knob_support());
  larger.set_calibration(calibration());
  // Every parameter is the same but the token table, whose first rows are.
  ModelAccess::change_weights(larger, [&](ParameterBlock& larger_weights) {
    for (const NamedParameter& parameter : parameters()) {
      const ParameterInfo* info = ModelAccess::network(larger).layout().find(parameter.name);
      std::copy(parameter.values.begin(), parameter.values.end(), larger_weights.vector(*info));
    }
  });
  if (!heads().empty()) {
    const std::string fingerprint = steering_fingerprint(larger);
    KnobHeads larger_heads = heads();
    for (auto& [name, head] : larger_heads) {
      head.model = fingerprint;
      add_tokens(head, larger.vocabulary().size());
    }
    larger.set_heads(std::move(larger_heads));
  }
  return larger;
}

}  // namespace semfuse
