// What the library itself, its tests and its benchmarks may do with a LanguageModel; the public header shows none of
// it.
#pragma once

#include <functional>

#include "core/parameter_block.h"
#include "features/token_features.h"
#include "model/network.h"
#include "semfuse/language_model.h"

namespace semfuse {

class ModelAccess {
 public:
  static const Network& network(const LanguageModel& model);
  static const ParameterBlock& weights(const LanguageModel& model);
  // Of its tokens by its bank, also if it reads none.
  static const TokenFeatures& features(const LanguageModel& model);
  // Changes the weights, and what is computed from them.
  static void change_weights(LanguageModel& model, const std::function<void(ParameterBlock&)>& change);

  // Throws Error if no model can have these options.
  static void check(const ModelOptions& options, const FeatureOptions& features);
  // A model whose weights are all 0, for who has them from elsewhere: nothing is drawn. Throws Error as check() does.
  static LanguageModel unfilled(const ModelOptions& options, Vocabulary vocabulary, FeatureBank bank,
                                std::optional<Tokenizer> tokenizer = {});
};

}  // namespace semfuse
