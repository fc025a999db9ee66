#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LanguageModel model_with(AttentionMask attention, bool fusion, FeatureSet bank) {
  ModelOptions options = small_options(attention, fusion);
  options.output_features = fusion;
  LanguageModel model(options, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), {.bank = bank}), 5);
  ModelAccess::change_weights(
      model, [&](ParameterBlock& weights) { weights = random_weights(ModelAccess::network(model).layout(), 5); });
  return model;
}

TEST(Audit, ACausalModelWithHonestFeaturesShowsExactlyZero) {
  for (const auto& [fusion, bank] : {std::pair{true, FeatureSet::semfuse},
                                     {true, FeatureSet::open},
                                     {true, FeatureSet::natural},
                                     {false, FeatureSet::semfuse}}) {
    const LanguageModel model = model_with(AttentionMask::causal, fusion, bank);
    const Audit result = audit(model, some_sentences(12), 3, 2);
    EXPECT_EQ(result.max_logit_change, 0.0);
    EXPECT_THAT(result.features_looking_ahead, IsEmpty());
    EXPECT_EQ(result.attention, AttentionMask::causal);
    EXPECT_EQ(result.num_sentences, 12U);
    EXPECT_GT(result.num_changes, 12U * 8U);
  }
}

TEST(Audit, FindsBidirectionalAttention) {
  const LanguageModel model = model_with(AttentionMask::bidirectional, /*fusion=*/false, FeatureSet::semfuse);
  const Audit result = audit(model, some_sentences(2), 3, 2);
  EXPECT_GT(result.max_logit_change, 0.1);
  EXPECT_THAT(result.features_looking_ahead, IsEmpty());
}

TEST(Audit, NamesThePapersFeaturesThatSeeTheFinalMark) {
  const LanguageModel model = model_with(AttentionMask::causal, /*fusion=*/true, FeatureSet::paper);
  const Audit result = audit(model, some_sentences(4), 3, 2);
  EXPECT_THAT(result.features_looking_ahead, ElementsAre("str_low", "str_med", "str_high"));
  EXPECT_GT(result.max_logit_change, 0.0) << "what a feature sees, the logits see";
}

TEST(Audit, TheSameForAnyNumberOfThreads) {
  const LanguageModel model = model_with(AttentionMask::bidirectional, /*fusion=*/true, FeatureSet::paper);
  EXPECT_EQ(audit(model, some_sentences(3), 3, 1).max_logit_change,
            audit(model, some_sentences(3), 3, 3).max_logit_change);
}

TEST(Audit, RefusesNothingToWorkOn) {
  const LanguageModel model = model_with(AttentionMask::causal, /*fusion=*/false, FeatureSet::paper);
  EXPECT_THROW(audit(model, {}), Error);
  std::vector<double> told;
  audit(model, some_sentences(4), 3, 1, [&](double done) { told.push_back(done); });
  EXPECT_EQ(told, (std::vector{0.25, 0.5, 0.75, 1.0}));
}

}  // namespace
}  // namespace semfuse
