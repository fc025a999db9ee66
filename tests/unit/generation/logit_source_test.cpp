// How sources combine what models say: cases of two words that are computed by hand.
#include "generation/logit_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "generation/guidance.h"
#include "generation/pplm_source.h"
#include "generation/steering_sources.h"
#include "generation/value_source.h"

namespace semfuse {
namespace {

std::vector<float> logs(const std::vector<double>& probabilities, double shift = 0.0) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

void expect_probabilities(const std::vector<float>& logits, const std::vector<double>& expected,
                          double tolerance = 1e-6) {
  ASSERT_EQ(logits.size(), expected.size());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit);
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(std::exp(logits[i]) / sum, expected[i], tolerance) << i;
}

// (1/4 : 3/4) as asked for both, times (4/5 : 1/5) / (1/2 : 1/2) of the one that goes further by one: 4 against 3.
TEST(KnobGuidance, GoesOnFromWhatIsAskedTogether) {
  const std::vector<float> unasked = logs({0.5, 0.5}, 2.0);
  std::vector<float> asked = logs({0.25, 0.75}, 1.0);
  const std::vector<float> first = logs({0.8, 0.2}, -1.0);
  guide(unasked, asked, std::vector<GuidedPart>{{.logits = first, .weight = 2.0}}, asked[1]);
  expect_probabilities(asked, {4.0 / 7.0, 3.0 / 7.0});
}

// Below its setting: (1/4 : 3/4) · ((4/5 : 1/5) / (1/2 : 1/2))^-1/2.
TEST(KnobGuidance, AWeightBelowOneTakesBack) {
  std::vector<float> asked = logs({0.25, 0.75});
  const std::vector<float> first = logs({0.8, 0.2});
  guide(logs({0.5, 0.5}), asked, std::vector<GuidedPart>{{.logits = first, .weight = 0.5}}, asked[1]);
  expect_probabilities(asked, {0.125 / 0.875, 0.75 / 0.875});
}

// As asked the third word has less than a tenth of the first: it does not rise.
TEST(KnobGuidance, ImplausibleTokensDoNotRise) {
  std::vector<float> asked = logs({0.5, 0.496, 0.004});
  const std::vector<float> first = logs({0.5, 0.496, 0.004});
  guide(logs({0.5, 0.499, 0.001}), asked, std::vector<GuidedPart>{{.logits = first, .weight = 5.0}}, asked[0]);
  EXPECT_NEAR(std::exp(asked[2]), 0.004, 1e-5);
}

// One part is what guide() of one weight is.
TEST(KnobGuidance, OfOnePartIsGuidance) {
  const std::vector<float> unasked = logs({0.50, 0.44, 0.05, 0.01});
  const std::vector<float> part = logs({0.25, 0.66, 0.04, 0.05});
  std::vector<float> asked = part, alone = part;
  guide(unasked, asked, std::vector<GuidedPart>{{.logits = part, .weight = 2.0}}, part[1]);
  guide(unasked, alone, 2.0, part[1]);
  for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_NEAR(asked[i], alone[i], 1e-5) << i;
}

// (0.6, 0.4) · ((0.5, 0.5) / (0.2, 0.8))^1: 1.5 against 0.25.
TEST(Experts, MultiplyByTheirRatio) {
  std::vector<float> logits = logs({0.6, 0.4});
  add_experts(logits, logs({0.5, 0.5}, 3.0), logs({0.2, 0.8}, -2.0), 1.0);
  expect_probabilities(logits, {1.5 / 1.75, 0.25 / 1.75});
  add_experts(logits, logs({0.5, 0.5}), logs({0.2, 0.8}), -1.0);
  expect_probabilities(logits, {0.6, 0.4});
}

// As if the vocabulary had these tokens from <eos> on.
LogOdds of(const std::vector<float>& z) {
  return [z](std::span<const TokenId> next, std::span<float> of_next) {
    for (std::size_t i = 0; i < next.size(); ++i)
      of_next[i] = z.at(static_cast<std::size_t>(next[i] - Vocabulary::kEos));
  };
}

// σ(ln 3) = 3/4, σ(-ln 4) = 1/5. <eos> keeps its 1/5; the words share their 4/5 as 0.6 · 9/16 : 0.2 · 1/25.
TEST(Value, TiltsByThePowerAndLeavesTheEnd) {
  std::vector<float> logits = logs({0.2, 0.6, 0.2}, 1.0);
  const std::vector<float> z = {5.0f, std::log(3.0f), -std::log(4.0f)};
  tilt_by_value(logits, of(z), 1.0, 0.3, 2.0);
  const double first = 0.6 * 9.0 / 16.0;
  const double second = 0.2 / 25.0;
  expect_probabilities(logits, {0.2, 0.8 * first / (first + second), 0.8 * second / (first + second)});
}

// A target between: x·s/π + (1-x)·(1-s)/(1-π) with x = 1/2, π = 1/4 is 2·(3/4) + (2/3)·(1/4) and 2/5 + (2/3)·(4/5).
TEST(Value, OfAShareMixesBothKinds) {
  std::vector<float> logits = logs({0.5, 0.25, 0.25});
  const std::vector<float> z = {0.0f, std::log(3.0f), -std::log(4.0f)};
  tilt_by_value(logits, of(z), 0.5, 0.25, 1.0);
  const double first = 2.0 * 0.75 + 2.0 / 3.0 * 0.25;
  const double second = 2.0 * 0.2 + 2.0 / 3.0 * 0.8;
  expect_probabilities(logits, {0.5, 0.5 * first / (first + second), 0.5 * second / (first + second)});
}

TEST(Value, NothingAtStrengthZeroAndFiniteWhereASideIsSure) {
  std::vector<float> logits = logs({0.2, 0.6, 0.2});
  tilt_by_value(logits, of({0.0f, 3.0f, -3.0f}), 1.0, 0.5, 0.0);
  expect_probabilities(logits, {0.2, 0.6, 0.2});
  tilt_by_value(logits, of({0.0f, -300.0f, -300.0f}), 1.0, 0.5, 20.0);
  expect_probabilities(logits, {0.2, 0.6, 0.2}, 1e-4);
}

// z(v) = (M u + a)·(R row_v) + c·u + b_v by hand: width 2, inner 2, rank 1.
TEST(Value, ReadsTheState) {
  SteeringHead head;
  head.tensors = {{"inner.weight", {2, 2}, {1, 0, 0, 1}},
                  {"inner.bias", {2}, {0, 1}},
                  {"map.weight", {1, 2}, {2, 1}},
                  {"map.bias", {1}, {0.5}},
                  {"rows.weight", {1, 2}, {1, -1}},
                  {"prefix.weight", {2}, {0.25, 2}},
                  {"token.bias", {3}, {0, 0.125, -1}},
                  {"words", {3}, {0, 0, 0.5}},
                  {"others", {kPrefixWeights}, std::vector<float>(kPrefixWeights)},
                  {"bias", {1}, {0.25}}};
  const std::vector<float> rows = {1, 0, 0, 2, 3, 1};  // R row: 1, -2, 2
  const ValueReader reader(head, LogitRows::of({rows.data(), 3, 2}));
  std::vector<float> z(3);
  // u = (4, 0), M u + a = 8.5, c·u = 1; the text so far says 0.25 + 0.5.
  const ValueReader::Step step = reader.at(std::vector<TokenId>{Vocabulary::kBos, 2}, std::vector<float>{4, -3});
  step.read(std::vector<TokenId>{0, 1, 2}, z);
  EXPECT_THAT(z, testing::ElementsAre(10.25f, 1.875f - 17.0f, 17.75f));
  step.read(std::vector<TokenId>{2}, std::span(z).first(1));
  EXPECT_EQ(z[0], 17.75f);
}

// A word of 1e-5 is not asked for, though it would win: it falls as far as the worst of the others does.
TEST(Value, WhatHardlyComesFaresAsTheWorst) {
  std::vector<float> logits = logs({0.2, 0.5, 0.3 - 3e-6, 3e-6});
  const LogOdds log_odds = [](std::span<const TokenId> next, std::span<float> z) {
    for (std::size_t i = 0; i < next.size(); ++i) {
      ASSERT_LT(next[i], Vocabulary::kEos + 3);
      z[i] = next[i] == Vocabulary::kEos + 1 ? std::log(3.0f) : -std::log(4.0f);
    }
  };
  tilt_by_value(logits, log_odds, 1.0, 0.5, 1.0);
  const double all = 0.5 * 0.75 + 0.3 * 0.2;
  expect_probabilities(logits, {0.2, 0.8 * 0.5 * 0.75 / all, 0.8 * 0.3 * 0.2 / all, 3e-6 * 0.8 * 0.2 / all}, 1e-5);
}

// The second word mostly comes last. With s = 3/4 for the first and 19/20 for it, it would rise, and stays. With s =
// 1/2 it falls, by (1/2)/(3/4) to the eighth power more than it would as a word; far below by no more than exp(-20).
// <eos> would leave a text that is what is wanted.
TEST(Value, AnEndMayFallButNotRise) {
  const std::vector<std::size_t> ends = {2};
  const auto expect_end = [&](float z, double factor) {
    std::vector<float> logits = logs({0.2, 0.5, 0.3});
    tilt_by_value(logits, of({std::log(3.0f), std::log(3.0f), z}), 1.0, 0.5, 1.0, ends);
    const double word = 0.5 * 0.75;
    const double end = 0.3 * factor / (1.0 + std::exp(-z));
    expect_probabilities(logits, {0.2, 0.8 * word / (word + end), 0.8 * end / (word + end)}, 1e-5);
  };
  std::vector<float> logits = logs({0.2, 0.5, 0.3});
  tilt_by_value(logits, of({5.0f, std::log(3.0f), std::log(19.0f)}), 1.0, 0.5, 1.0, ends);
  expect_probabilities(logits, {0.2, 0.5, 0.3});
  expect_end(0.0f, std::pow(0.5 / 0.75, 8.0));
  expect_end(-4.0f, std::exp(-20.0));
}

// <eos> leaves s = 1/2 where a word promises 3/4: it falls by (1/2)/(3/4) to the eighth power, and the words share the
// rest as they would; where no end is known it keeps its probability.
TEST(Value, ATextThatIsNotWhatIsWantedGoesOn) {
  const std::vector<std::size_t> ends = {2};
  std::vector<float> logits = logs({0.9, 0.05, 0.05});
  const std::vector<float> z = {0.0f, std::log(3.0f), std::log(3.0f)};
  tilt_by_value(logits, of(z), 1.0, 0.5, 1.0, ends);
  const double end = 0.9 * std::pow(0.5 / 0.75, 8.0);
  expect_probabilities(logits, {end / (end + 0.1), 0.05 / (end + 0.1), 0.05 / (end + 0.1)}, 1e-5);
  logits = logs({0.9, 0.05, 0.05});
  tilt_by_value(logits, of(z), 1.0, 0.5, 1.0);
  expect_probabilities(logits, {0.9, 0.05, 0.05}, 1e-5);
}

// After two tokens with a ratio of 2 so far: (2 · (3/4) / (1/4))^(1/2) = √6 and (2 · (1/4) / (3/4))^(1/2).
TEST(Posterior, IsTheRatioOfLikelihoods) {
  const std::vector<float> yes = logs({0.75, 0.25}, 4.0);
  const std::vector<float> no = logs({0.25, 0.75}, -4.0);
  std::vector<float> ratios(2);
  log_ratios(yes, no, ratios);
  std::vector<float> z(2);
  posterior_log_odds(ratios, std::log(2.0), 2, z);
  EXPECT_NEAR(std::exp(z[0]), std::sqrt(6.0), 1e-5);
  EXPECT_NEAR(std::exp(z[1]), std::sqrt(2.0 / 3.0), 1e-5);
}

TEST(Fudge, AddsWordsPairsAndTriples) {
  SteeringHead head;
  head.tensors = {{"words", {5}, {0, 0, 0, 1, 2}}, {"others", {kPrefixWeights}, {}}, {"bias", {1}, {0.5}}};
  std::vector<float>& others = head.tensors[1].values;
  others.resize(kPrefixWeights);
  const PrefixTerms terms = prefix_terms(Vocabulary::kBos, 3, 4);
  others[terms.pair] = 4.0f;
  others[terms.triple] += 8.0f;
  const PrefixClassifier classifier(head, 5);
  const std::vector<TokenId> tokens = {Vocabulary::kBos, 3};
  EXPECT_EQ(classifier.log_odds(tokens), 1.5);
  std::vector<float> z(5);
  classifier.read(tokens, std::vector<TokenId>{0, 1, 2, 3, 4}, z);
  EXPECT_EQ(z[3], 2.5f);
  EXPECT_EQ(z[4], 15.5f);
  EXPECT_EQ(classifier.log_odds(std::vector<TokenId>{Vocabulary::kBos, 3, 4}), 15.5);
}

// A mean state of (2, 1/2) has the log-odds 2 · 2 - 1/2 + 1/2 = 4; one of two states moves it by half of the weights.
TEST(Pplm, TheClassifierReadsTheMean) {
  const SteeringHead head{.method = SteeringMethod::pplm,
                          .tensors = {{.name = "mean.weight", .shape = {2}, .values = {2.0f, -1.0f}},
                                      {.name = "mean.bias", .shape = {1}, .values = {0.5f}}}};
  const MeanClassifier classifier(head, 2);
  std::vector<float> d_hidden(2);
  const std::vector<double> sum = {1.0, 1.0};
  const std::vector<float> hidden = {3.0f, 0.0f};
  EXPECT_NEAR(classifier.loss(sum, hidden, 2, 1.0, d_hidden), std::log1p(std::exp(-4.0)), 1e-12);
  const double d_z = 1.0 / (1.0 + std::exp(-4.0)) - 1.0;
  EXPECT_NEAR(d_hidden[0], d_z, 1e-7);
  EXPECT_NEAR(d_hidden[1], -d_z / 2.0, 1e-7);
  EXPECT_NEAR(classifier.loss(sum, hidden, 2, 0.0, d_hidden), 4.0 + std::log1p(std::exp(-4.0)), 1e-12);
  EXPECT_NEAR(d_hidden[0], d_z + 1.0, 1e-7);
}

// KL((4/5, 1/5) ‖ (1/2, 1/2)) = 4/5 ln 8/5 + 1/5 ln 2/5; each gradient is p (ln(p/q) - KL).
TEST(Pplm, TheDivergenceHoldsBack) {
  std::vector<float> moved = logs({0.8, 0.2}, 3.0);
  const double kl = 0.8 * std::log(1.6) + 0.2 * std::log(0.4);
  EXPECT_NEAR(divergence(moved, logs({0.5, 0.5}, -1.0), 10.0), 10.0 * kl, 1e-5);
  EXPECT_NEAR(moved[0], 8.0 * (std::log(1.6) - kl), 1e-5);
  EXPECT_NEAR(moved[1], 2.0 * (std::log(0.4) - kl), 1e-5);
}

// (1/2, 1/2)^(1/2) · (16/17, 1/17)^(1/2): 4 against 1.
TEST(Pplm, BothDistributionsAreFused) {
  std::vector<float> model = logs({0.5, 0.5}, 1.0);
  fuse_moved(model, logs({16.0 / 17.0, 1.0 / 17.0}), 0.5);
  expect_probabilities(model, {0.8, 0.2});
}

}  // namespace
}  // namespace semfuse
