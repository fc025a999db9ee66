#include "generation/repetition_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "generation/word_slot.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

class Repetition : public testing::Test {
 protected:
  TokenId id(std::string_view word) const { return *model_.vocabulary().find(word); }
  double logit(std::string_view word) const { return logits_[static_cast<std::size_t>(id(word))]; }
  void apply(const RepetitionOptions& options) {
    const auto classes = word_classes(model_.vocabulary(), model_.feature_bank().lexicon());
    RepetitionRule(options, classes)
        .apply({.vocabulary = model_.vocabulary(), .tokens = tokens_, .allowed = nullptr}, logits_);
  }

  LanguageModel model_ = synthetic_model(small_options(AttentionMask::causal, false));
  std::vector<double> logits_ = std::vector<double>(model_.vocabulary().size(), 0.0);
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
};

TEST_F(Repetition, RecentTokensArePenalisedOnce) {
  tokens_ = {Vocabulary::kBos, id("Alice"), id("very"), id("good"), id("very")};
  apply({.penalty = 1.5, .last_k = 3});
  EXPECT_DOUBLE_EQ(logit("very"), -std::log(1.5));
  EXPECT_DOUBLE_EQ(logit("good"), -std::log(1.5));
  EXPECT_EQ(logit("Alice"), 0.0);
}

TEST_F(Repetition, ALastPunctuationMarkIsPenalisedTwice) {
  tokens_ = {Vocabulary::kBos, id("paper"), id(",")};
  apply({.penalty = 2.5});
  EXPECT_DOUBLE_EQ(logit(","), -std::log(2.5) - std::log(1.8));
  EXPECT_DOUBLE_EQ(logit("paper"), -std::log(2.5));
}

}  // namespace
}  // namespace semfuse
