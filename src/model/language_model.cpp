#include "semfuse/language_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
};

namespace {

const ModelOptions& checked(const ModelOptions& options) {
  const auto require = [](bool good, const char* rule) {
    if (!good) throw Error(fmt::format("model options: {}", rule));
  };
  require(options.heads > 0 && options.layers > 0 && options.feed_forward > 0,
          "layers, heads and feed_forward must be above 0");
  require(options.width > 0 && options.width % options.heads == 0 && options.width % 2 == 0,
          "width must be even and a multiple of heads");
  require(options.dropout >= 0.0 && options.dropout < 1.0, "dropout must be in [0, 1)");
  require(!options.fusion || options.feature_head > 0, "feature_head must be above 0");
  return options;
}

}  // namespace

LanguageModel::LanguageModel(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank, std::uint64_t seed) {
  const std::size_t vocab_size = vocabulary.size();
  const std::size_t num_features = options.fusion ? bank.size() : 0;
  state_.reset(new State{.options = checked(options),
                         .vocabulary = std::move(vocabulary),
                         .bank = std::move(bank),
                         .network{options, vocab_size, num_features},
                         .weights = {}});
  state_->weights = state_->network.initial_weights(seed);
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
ParameterBlock& LanguageModel::weights() {
  return state_->weights;
}
const ParameterBlock& LanguageModel::weights() const {
  return state_->weights;
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
  std::copy(values.begin(), values.end(), state_->weights.vector(*info));
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
