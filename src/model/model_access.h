// What the library itself, its tests and its benchmarks may do with a LanguageModel; the public header shows none of
// it.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "core/parameter_block.h"
#include "features/token_features.h"
#include "model/network.h"
#include "model/pretrained_network.h"
#include "semfuse/language_model.h"

namespace semfuse {

class ModelAccess {
 public:
  // Throws Error if the model is a pretrained one, which has another.
  static const Network& network(const LanguageModel& model);
  // nullptr if the model's network is our own.
  static const PretrainedNetwork* pretrained(const LanguageModel& model);
  // What is trained of it. Throws Error if that is nothing.
  static const ParameterLayout& layout(const LanguageModel& model);
  // Numbers that are read with each token; 0 for a pretrained model without an adapter.
  static std::size_t num_features(const LanguageModel& model);
  // For a text that the model reads.
  static KeyValueCache empty_cache(const LanguageModel& model);
  static const ParameterBlock& weights(const LanguageModel& model);
  // Of its tokens by its bank, also if it reads none. Throws Error if the model is a pretrained one without an adapter.
  static const TokenFeatures& features(const LanguageModel& model);
  // Changes the weights, and what is computed from them.
  static void change_weights(LanguageModel& model, const std::function<void(ParameterBlock&)>& change);

  // Throws Error if no model can have these options.
  static void check(const ModelOptions& options, const FeatureOptions& features);
  // A model whose weights are all 0, for who has them from elsewhere: nothing is drawn. Throws Error as check() does.
  static LanguageModel unfilled(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank,
                                std::optional<Tokenizer> tokenizer = {});
  // A model around a network that was trained elsewhere. The bank is what is beside it; weights beside it are 0.
  static LanguageModel pretrained(const ModelOptions& options, Vocabulary vocabulary,
                                  std::optional<Tokenizer> tokenizer, std::shared_ptr<const PretrainedNetwork> network,
                                  FeatureBank bank = FeatureBank(Lexicon({})));
};

}  // namespace semfuse
