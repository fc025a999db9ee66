#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "core/random.h"
#include "decoding/sampler.h"

namespace semfuse {
namespace {

constexpr double kForbidden = -INFINITY;

std::vector<double> logits_of(const std::vector<double>& probabilities) {
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(p == 0.0 ? kForbidden : std::log(p) + 3.0);
  return logits;
}

void expect_distribution(const std::vector<TokenProbability>& found,
                         const std::vector<std::pair<TokenId, double>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].id, expected[i].first) << "place " << i;
    EXPECT_NEAR(found[i].probability, expected[i].second, 1e-12) << "place " << i;
    sum += found[i].probability;
  }
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

// Draws a million tokens and compares their counts with the distribution: chi-square below the 99.99 % point.
void expect_draws(const std::vector<TokenProbability>& distribution,
                  const std::vector<std::pair<TokenId, double>>& by_hand) {
  constexpr int kDraws = 1'000'000;
  std::map<TokenId, int> counts;
  const RandomStream random(7, RandomPurpose::sampling, 3);
  for (int i = 0; i < kDraws; ++i) ++counts[draw(distribution, random.uniform(static_cast<std::uint64_t>(i)))];
  double chi_square = 0.0;
  int total = 0;
  for (const auto& [id, probability] : by_hand) {
    const double expected = kDraws * probability;
    chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
    total += counts[id];
  }
  EXPECT_EQ(total, kDraws) << "a token was drawn that has no probability";
  const double freedom = static_cast<double>(by_hand.size()) - 1.0;
  // Wilson and Hilferty: (x / f)^(1/3) is about normal with mean 1 - 2/(9f) and variance 2/(9f).
  if (freedom > 0) {
    const double limit = freedom * std::pow(1.0 - 2.0 / (9.0 * freedom) + 3.72 * std::sqrt(2.0 / (9.0 * freedom)), 3.0);
    EXPECT_LT(chi_square, limit);
  }
}

TEST(SamplingDistribution, IsTheSoftmaxByDefault) {
  const auto found = sampling_distribution(logits_of({0.1, 0.0, 0.4, 0.2, 0.3}), {});
  expect_distribution(found, {{2, 0.4}, {4, 0.3}, {3, 0.2}, {0, 0.1}});
  expect_draws(found, {{2, 0.4}, {4, 0.3}, {3, 0.2}, {0, 0.1}});
}

TEST(SamplingDistribution, EqualTokensComeById) {
  expect_distribution(sampling_distribution(logits_of({0.25, 0.25, 0.25, 0.25}), {.top_k = 2}), {{0, 0.5}, {1, 0.5}});
}

TEST(SamplingDistribution, TemperatureIsAPower) {
  // p^2 of 0.4, 0.3, 0.2, 0.1 is 0.16, 0.09, 0.04, 0.01 over 0.30.
  const std::vector<std::pair<TokenId, double>> by_hand = {{0, 16.0 / 30}, {1, 9.0 / 30}, {2, 4.0 / 30}, {3, 1.0 / 30}};
  const auto found = sampling_distribution(logits_of({0.4, 0.3, 0.2, 0.1}), {.temperature = 0.5});
  expect_distribution(found, by_hand);
  expect_draws(found, by_hand);
}

TEST(SamplingDistribution, TopKKeepsTheMostProbable) {
  const auto found = sampling_distribution(logits_of({0.1, 0.4, 0.2, 0.3}), {.top_k = 2});
  expect_distribution(found, {{1, 4.0 / 7}, {3, 3.0 / 7}});
  expect_draws(found, {{1, 4.0 / 7}, {3, 3.0 / 7}});
}

TEST(SamplingDistribution, TheUsualNucleusKeepsTheTokenThatCrosses) {
  const auto found = sampling_distribution(logits_of({0.4, 0.3, 0.2, 0.1}), {.top_p = 0.75});
  expect_distribution(found, {{0, 4.0 / 9}, {1, 3.0 / 9}, {2, 2.0 / 9}});
  expect_draws(found, {{0, 4.0 / 9}, {1, 3.0 / 9}, {2, 2.0 / 9}});
}

TEST(SamplingDistribution, ThePapersNucleusLeavesItOut) {
  const SamplingOptions options = {.top_p = 0.75, .nucleus = Nucleus::paper};
  const auto found = sampling_distribution(logits_of({0.4, 0.3, 0.2, 0.1}), options);
  expect_distribution(found, {{0, 4.0 / 7}, {1, 3.0 / 7}});
  expect_draws(found, {{0, 4.0 / 7}, {1, 3.0 / 7}});
}

TEST(SamplingDistribution, ThePapersNucleusAlwaysKeepsTheFirst) {
  expect_distribution(sampling_distribution(logits_of({0.6, 0.4}), {.top_p = 0.5, .nucleus = Nucleus::paper}),
                      {{0, 1.0}});
}

TEST(SamplingDistribution, TopKComesBeforeTheNucleus) {
  // Among the best three the probabilities are 4/9, 3/9, 2/9; 0.7 is crossed by the second.
  expect_distribution(sampling_distribution(logits_of({0.4, 0.3, 0.2, 0.1}), {.top_k = 3, .top_p = 0.7}),
                      {{0, 4.0 / 7}, {1, 3.0 / 7}});
}

TEST(SamplingDistribution, GreedyTakesTheBestAndTheSmallestIdOfEquals) {
  expect_distribution(sampling_distribution(logits_of({0.2, 0.4, 0.4}), {.greedy = true}), {{1, 1.0}});
  expect_distribution(sampling_distribution(logits_of({0.2, 0.4, 0.4}), {.temperature = 0.0}), {{1, 1.0}});
}

TEST(SamplingDistribution, IsEmptyIfEverythingIsRuledOut) {
  EXPECT_TRUE(sampling_distribution(std::vector<double>{kForbidden, kForbidden}, {}).empty());
}

TEST(SamplingDistribution, HugeLogitsDoNotOverflow) {
  expect_distribution(sampling_distribution(std::vector<double>{1e6, 1e6, -1e6}, {.top_k = 2}), {{0, 0.5}, {1, 0.5}});
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

TEST(Draw, GoesByIdAndGivesTheLastTokenWhenRoundingLeavesAGap) {
  const std::vector<TokenProbability> distribution = {{4, 0.5}, {2, 0.4999999}, {7, 0.0}};
  EXPECT_EQ(draw(distribution, 0.0), 2);
  EXPECT_EQ(draw(distribution, 0.4999), 2);
  EXPECT_EQ(draw(distribution, 0.5), 4);
  EXPECT_EQ(draw(distribution, 0.99999999), 4);
}

TEST(Sampler, SampleIsADrawFromTheDistribution) {
  RandomStream random(5, RandomPurpose::sampling);
  const std::vector<SamplingOptions> all_options = {{},
                                                    {.temperature = 0.3},
                                                    {.top_k = 3},
                                                    {.top_p = 0.7},
                                                    {.top_p = 0.7, .nucleus = Nucleus::paper},
                                                    {.greedy = true}};
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> logits(1 + random.next_below(30));
    for (double& logit : logits) {
      logit = random.next_below(4) == 0 ? kForbidden : static_cast<double>(random.next_below(9)) - 4.0;  // With equals.
    }
    for (const SamplingOptions& options : all_options) {
      const std::vector<TokenProbability> distribution = sampling_distribution(logits, options);
      for (const double uniform : {random.next_uniform(), 0.0, 1.0 - 0x1p-53}) {
        const std::optional<TokenProbability> token = sample(logits, options, uniform);
        ASSERT_EQ(token.has_value(), !distribution.empty());
        if (!token) continue;
        EXPECT_EQ(token->id, draw(distribution, uniform));
        EXPECT_EQ(token->probability, drawn_from(distribution, uniform).probability);
      }
    }
  }
}

TEST(Sampler, SampleRefusesWhatIsNoNumber) {
  const std::vector<double> logits = {1.0, INFINITY, 2.0};
  EXPECT_FALSE(sample(logits, {}, 0.5));
  EXPECT_FALSE(sample(logits, {.top_k = 2}, 0.5));
}

}  // namespace
}  // namespace semfuse
