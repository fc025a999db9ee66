#include "paper/control_rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "semfuse/error.h"
#include "support/distributions.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

class ControlRules : public testing::Test {
 protected:
  TokenId id(std::string_view word) const { return *model_.vocabulary().find(word); }
  double& logit(std::string_view word) { return logits_[static_cast<std::size_t>(id(word))]; }

  RuleOutcome steer(const ControlOptions& controls) { return apply(SteeringRule(controls, words_)); }
  RuleOutcome demand(const ControlOptions& controls, const SamplingOptions& sampling = {}) {
    return apply(HardRequestRule(controls, sampling, words_));
  }
  RuleOutcome apply(const LogitRule& rule) {
    return rule.apply({.vocabulary = model_.vocabulary(), .tokens = tokens_, .allowed = &allowed_}, logits_);
  }
  void allow_only(const std::vector<std::string>& words) {
    std::fill(logits_.begin(), logits_.end(), -INFINITY);
    allowed_ = TokenSet(logits_.size());
    for (const std::string& word : words) {
      logit(word) = 0.0;
      allowed_.insert(id(word));
    }
  }

  LanguageModel model_ = synthetic_model(small_options(AttentionMask::causal, false));
  std::vector<double> logits_ = std::vector<double>(model_.vocabulary().size(), 0.0);
  std::vector<TokenId> tokens_ = {Vocabulary::kBos};
  TokenSet allowed_ = TokenSet(model_.vocabulary().size());
  std::shared_ptr<const ControlWords> words_ =
      std::make_shared<ControlWords>(model_.vocabulary(), model_.feature_bank().lexicon());
};

TEST_F(ControlRules, AdjectivesAreShiftedByPolarity) {
  allow_only({"good", "bad"});
  steer({.pos_high = 0.5, .neg_high = 0.1});
  EXPECT_DOUBLE_EQ(logit("good"), 6.0 * 0.4);
  EXPECT_DOUBLE_EQ(logit("bad"), -3.0 * 0.4);
  allow_only({"good", "bad"});
  steer({.neg_high = 0.5});
  EXPECT_DOUBLE_EQ(logit("good"), -3.0 * 0.5);
  EXPECT_DOUBLE_EQ(logit("bad"), 6.0 * 0.5);
}

TEST_F(ControlRules, IntensifiersAreShiftedByStrength) {
  allow_only({"very", "slightly"});
  steer({.str_high = 0.3, .str_med = 0.6});
  EXPECT_DOUBLE_EQ(logit("very"), 1.2 * 1.1);
  EXPECT_DOUBLE_EQ(logit("slightly"), 1.2 * 1.1);
}

TEST_F(ControlRules, MarksAreShiftedByQuestionAndByStrongPraise) {
  allow_only({".", "!", "?"});
  steer({.pos_high = 0.5, .str_high = 0.4, .is_question = 0.25});
  EXPECT_DOUBLE_EQ(logit("."), 0.0);
  EXPECT_DOUBLE_EQ(logit("!"), 2.8 * 0.4 * 0.5);
  EXPECT_DOUBLE_EQ(logit("?"), 2.8 * 0.25);
}

TEST_F(ControlRules, NothingIsSteeredOutsideASlot) {
  allow_only({"good", "very", "!", "?"});
  steer({.pos_high = 0.5, .is_question = 1.0});
  for (const std::string word : {"good", "very", "!", "?"}) EXPECT_EQ(logit(word), 0.0);
}

TEST_F(ControlRules, AHardRequestRulesOutTheOtherPolarity) {
  allow_only({"good", "great", "bad", "and"});
  EXPECT_FALSE(demand({.pos_high = 0.61}).final);
  EXPECT_EQ(logit("good"), 0.0);
  EXPECT_EQ(logit("great"), 0.0);
  EXPECT_EQ(logit("bad"), -INFINITY);
}

TEST_F(ControlRules, ARequestAtTheThresholdIsNotHard) {
  allow_only({"good", "bad"});
  demand({.pos_high = 0.6});
  EXPECT_EQ(logit("bad"), 0.0);
  demand({.pos_high = 0.95, .soft_only = true});
  EXPECT_EQ(logit("bad"), 0.0);
}

TEST_F(ControlRules, AHardRequestThatNothingMeetsLeavesTheChoice) {
  allow_only({"bad", "poor"});
  EXPECT_TRUE(demand({.pos_high = 0.95}).unmet);
  EXPECT_EQ(logit("bad"), 0.0);
  EXPECT_EQ(logit("poor"), 0.0);
}

TEST_F(ControlRules, AHardQuestionComesBeforeAHardExclamation) {
  allow_only({".", "!", "?"});
  demand({.pos_high = 0.95, .str_high = 0.9, .is_question = 0.7});
  EXPECT_EQ(logit("?"), 0.0);
  EXPECT_EQ(logit("!"), -INFINITY);
  EXPECT_EQ(logit("."), -INFINITY);
  allow_only({".", "!", "?"});
  demand({.pos_high = 0.95, .str_high = 0.9});
  EXPECT_EQ(logit("!"), 0.0);
  EXPECT_EQ(logit("?"), -INFINITY);
  allow_only({".", "!", "?"});
  demand({.pos_high = 0.95, .str_med = 0.9});
  EXPECT_EQ(logit("."), 0.0);
}

TEST_F(ControlRules, ACommaIsNoMarkThatAQuestionAsksFor) {
  allow_only({","});
  EXPECT_FALSE(demand({.is_question = 1.0}).unmet);
  EXPECT_EQ(logit(","), 0.0);
}

TEST_F(ControlRules, AmongAdjectivesAloneAHardRequestDrawsFromTheClassMixture) {
  allow_only({"good", "great", "bad"});
  logit("good") = 2.0;
  EXPECT_TRUE(demand({.pos_high = 0.95, .positive = {.alpha = 0.4, .temperature = 2.0}}).final);
  const double share = std::exp(1.0) / (std::exp(1.0) + 1.0);
  EXPECT_NEAR(logit("good"), std::log(0.6 * share + 0.2), 1e-12);
  EXPECT_NEAR(logit("great"), std::log(0.6 * (1.0 - share) + 0.2), 1e-12);
  EXPECT_EQ(logit("bad"), -INFINITY);
  allow_only({"good", "great", "bad"});
  logit("great") = 2.0;
  EXPECT_TRUE(demand({.pos_high = 0.95}, {.temperature = 0.0}).final);
  EXPECT_EQ(logit("great"), 0.0);
  EXPECT_EQ(logit("good"), -INFINITY);
}

TEST_F(ControlRules, RefusesValuesOutOfRangeAndAStepWithoutAGrammar) {
  EXPECT_THROW(control_rules({.pos_high = 1.5}, {}, model_), Error);
  EXPECT_THROW(control_rules({.pos_high = 0.5, .positive = {.alpha = -1.0}}, {}, model_), Error);
  EXPECT_TRUE(control_rules({}, {}, model_).empty());
  const auto rules = control_rules({.pos_high = 0.5}, {}, model_);
  ASSERT_EQ(rules.size(), 2u);
  for (const auto& rule : rules) {
    EXPECT_THROW(rule->apply({.vocabulary = model_.vocabulary(), .tokens = tokens_, .allowed = nullptr}, logits_),
                 Error);
  }
}

TEST(MixtureDistribution, MixesTheClassWithUniform) {
  // softmax over tokens 1 and 3 at temperature 2: sqrt(0.4) : sqrt(0.1) = 2 : 1.
  const std::vector<TokenId> tokens = {1, 3};
  const auto found =
      mixture_distribution(logits_of({0.3, 0.4, 0.2, 0.1}), tokens, {.alpha = 0.4, .temperature = 2.0}, Nucleus::usual);
  expect_distribution(found, {{1, 0.6 * 2 / 3 + 0.2}, {3, 0.6 / 3 + 0.2}});
  expect_draws(found, {{1, 0.6}, {3, 0.4}});
}

TEST(MixtureDistribution, CutsTheNucleusAfterMixing) {
  const std::vector<TokenId> tokens = {0, 1, 2};
  const auto logits = logits_of({0.5, 0.3, 0.2});
  // Mixed with 0.1: 0.48, 0.303..., 0.213...
  const ClassMixture mixture = {.alpha = 0.1, .temperature = 1.0, .top_p = 0.8};
  const double a = 0.9 * 0.5 + 0.1 / 3;
  const double b = 0.9 * 0.3 + 0.1 / 3;
  expect_distribution(mixture_distribution(logits, tokens, mixture, Nucleus::paper),
                      {{0, a / (a + b)}, {1, b / (a + b)}});
  EXPECT_EQ(mixture_distribution(logits, tokens, mixture, Nucleus::usual).size(), 3u);
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
