#include "decoding/logit_rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

class LogitRules : public testing::Test {
 protected:
  TokenId id(std::string_view word) const { return *model_.vocabulary().find(word); }
  double& logit(std::string_view word) { return logits_[static_cast<std::size_t>(id(word))]; }

  void apply(const LogitRule& rule, std::optional<WordClass> slot) {
    rule.apply({.model = model_, .tokens = tokens_, .allowed = nullptr, .slot = slot}, logits_);
  }
  void allow_only(const std::vector<std::string>& words) {
    std::fill(logits_.begin(), logits_.end(), -INFINITY);
    for (const std::string& word : words) logit(word) = 0.0;
  }

  LanguageModel model_ = synthetic_model(small_options(AttentionMask::causal, false));
  std::vector<double> logits_ = std::vector<double>(model_.vocabulary().size(), 0.0);
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
};

TEST_F(LogitRules, AdjectivesAreShiftedByPolarity) {
  allow_only({"good", "bad"});
  apply(SteeringRule({.pos_high = 0.5, .neg_high = 0.1}), WordClass::adjective);
  EXPECT_DOUBLE_EQ(logit("good"), 6.0 * 0.4);
  EXPECT_DOUBLE_EQ(logit("bad"), -3.0 * 0.4);
  allow_only({"good", "bad"});
  apply(SteeringRule({.neg_high = 0.5}), WordClass::adjective);
  EXPECT_DOUBLE_EQ(logit("good"), -3.0 * 0.5);
  EXPECT_DOUBLE_EQ(logit("bad"), 6.0 * 0.5);
}

TEST_F(LogitRules, IntensifiersAreShiftedByStrength) {
  allow_only({"very", "slightly"});
  apply(SteeringRule({.str_high = 0.3, .str_med = 0.6}), WordClass::intensifier);
  EXPECT_DOUBLE_EQ(logit("very"), 1.2 * 1.1);
  EXPECT_DOUBLE_EQ(logit("slightly"), 1.2 * 1.1);
}

TEST_F(LogitRules, MarksAreShiftedByQuestionAndByStrongPraise) {
  allow_only({".", "!", "?"});
  apply(SteeringRule({.pos_high = 0.5, .str_high = 0.4, .is_question = 0.25}), WordClass::punctuation);
  EXPECT_DOUBLE_EQ(logit("."), 0.0);
  EXPECT_DOUBLE_EQ(logit("!"), 2.8 * 0.4 * 0.5);
  EXPECT_DOUBLE_EQ(logit("?"), 2.8 * 0.25);
}

TEST_F(LogitRules, NothingIsSteeredOutsideASlot) {
  apply(SteeringRule({.pos_high = 0.5, .is_question = 1.0}), std::nullopt);
  for (const double value : logits_) EXPECT_EQ(value, 0.0);
}

TEST_F(LogitRules, AHardRequestRulesOutTheOtherPolarity) {
  allow_only({"good", "great", "bad"});
  apply(HardRequestRule({.pos_high = 0.61}), WordClass::adjective);
  EXPECT_EQ(logit("good"), 0.0);
  EXPECT_EQ(logit("great"), 0.0);
  EXPECT_EQ(logit("bad"), -INFINITY);
}

TEST_F(LogitRules, ARequestAtTheThresholdIsNotHard) {
  allow_only({"good", "bad"});
  apply(HardRequestRule({.pos_high = 0.6}), WordClass::adjective);
  EXPECT_EQ(logit("bad"), 0.0);
  apply(HardRequestRule({.pos_high = 0.95, .soft_only = true}), WordClass::adjective);
  EXPECT_EQ(logit("bad"), 0.0);
}

TEST_F(LogitRules, AHardRequestThatNothingMeetsLeavesTheChoice) {
  allow_only({"bad", "poor"});
  apply(HardRequestRule({.pos_high = 0.95}), WordClass::adjective);
  EXPECT_EQ(logit("bad"), 0.0);
  EXPECT_EQ(logit("poor"), 0.0);
}

TEST_F(LogitRules, AHardQuestionComesBeforeAHardExclamation) {
  allow_only({".", "!", "?"});
  apply(HardRequestRule({.pos_high = 0.95, .str_high = 0.9, .is_question = 0.7}), WordClass::punctuation);
  EXPECT_EQ(logit("?"), 0.0);
  EXPECT_EQ(logit("!"), -INFINITY);
  EXPECT_EQ(logit("."), -INFINITY);
  allow_only({".", "!", "?"});
  apply(HardRequestRule({.pos_high = 0.95, .str_high = 0.9}), WordClass::punctuation);
  EXPECT_EQ(logit("!"), 0.0);
  EXPECT_EQ(logit("?"), -INFINITY);
  allow_only({".", "!", "?"});
  apply(HardRequestRule({.pos_high = 0.95, .str_med = 0.9}), WordClass::punctuation);
  EXPECT_EQ(logit("."), 0.0);
}

TEST_F(LogitRules, RecentTokensArePenalisedOnce) {
  tokens_ = {Vocabulary::kBos, id("Alice"), id("very"), id("good"), id("very")};
  apply(RepetitionRule({.penalty = 1.5, .last_k = 3}), std::nullopt);
  EXPECT_DOUBLE_EQ(logit("very"), -std::log(1.5));
  EXPECT_DOUBLE_EQ(logit("good"), -std::log(1.5));
  EXPECT_EQ(logit("Alice"), 0.0);
}

TEST_F(LogitRules, ALastPunctuationMarkIsPenalisedTwice) {
  tokens_ = {Vocabulary::kBos, id("paper"), id(",")};
  apply(RepetitionRule({.penalty = 2.5}), std::nullopt);
  EXPECT_DOUBLE_EQ(logit(","), -std::log(2.5) - std::log(1.8));
  EXPECT_DOUBLE_EQ(logit("paper"), -std::log(2.5));
}

TEST(SetControl, ReadsNameAndValue) {
  ControlOptions controls;
  set_control(controls, "neg_high=0.95");
  EXPECT_EQ(controls.neg_high, 0.95);
  EXPECT_TRUE(controls.active());
}

TEST(SetControl, RefusesWhatItDoesNotKnow) {
  ControlOptions controls;
  for (const std::string text : {"pos_hi=0.5", "pos_high=1.5", "pos_high=-0.1", "pos_high=nan", "pos_high=", "pos_high",
                                 "pos_high=0.5x", "", "=1", "is_question=inf"}) {
    EXPECT_THROW(set_control(controls, text), Error) << text;
  }
  EXPECT_FALSE(controls.active());
}

}  // namespace
}  // namespace semfuse
