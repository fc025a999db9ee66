#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/random.h"
#include "generation/sampler.h"
#include "support/distributions.h"

namespace semfuse {
namespace {

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
  expect_distribution(sampling_distribution(logits_of({0.2, 0.4, 0.4}), {.temperature = 0.0}), {{1, 1.0}});
}

TEST(SamplingDistribution, IsEmptyIfEverythingIsRuledOut) {
  EXPECT_TRUE(sampling_distribution(std::vector<double>{kForbidden, kForbidden}, {}).empty());
}

TEST(SamplingDistribution, HugeLogitsDoNotOverflow) {
  expect_distribution(sampling_distribution(std::vector<double>{1e6, 1e6, -1e6}, {.top_k = 2}), {{0, 0.5}, {1, 0.5}});
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
                                                    {.temperature = 0.0}};
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

// What sorting keeps: the plain reading of top-k and top-p.
std::vector<TokenId> kept_by_sorting(const std::vector<double>& logits, const SamplingOptions& options) {
  std::vector<TokenProbability> all = sampling_distribution(logits, {.temperature = options.temperature});
  if (options.top_k > 0 && options.top_k < all.size()) {
    std::ranges::sort(all, [&](const auto& a, const auto& b) {  // By logit: probabilities may be rounded to equals.
      return std::pair(-logits[a.id], a.id) < std::pair(-logits[b.id], b.id);
    });
    all.resize(options.top_k);
    std::ranges::sort(all, is_more_probable);
    double sum = 0.0;
    for (const auto& token : all) sum += token.probability;
    for (auto& token : all) token.probability /= sum;
  }
  keep_nucleus(all, options.top_p, options.nucleus);
  std::vector<TokenId> result;
  for (const TokenProbability& token : all) result.push_back(token.id);
  return result;
}

TEST(Sampler, LargeVocabulariesAreCutAsIfTheyWereSorted) {
  RandomStream random(7, RandomPurpose::sampling);
  for (int i = 0; i < 20; ++i) {
    std::vector<double> logits(1000 + random.next_below(3000));
    const double scale = std::array{0.0, 0.01, 1.0, 3.0, 12.0}[i % 5];  // From flat to one word only.
    for (double& logit : logits) {
      const double x = random.next_uniform() + random.next_uniform() + random.next_uniform() - 1.5;
      logit = random.next_below(9) == 0 ? kForbidden : scale * (i % 2 == 0 ? x : std::round(4.0 * x));  // With equals.
    }
    // No sum comes near these by chance, so that the order of adding does not matter.
    for (const SamplingOptions& options :
         std::vector<SamplingOptions>{{.top_k = 1},
                                      {.top_k = 40},
                                      {.top_k = 700},
                                      {.top_k = 100000},
                                      {.top_p = 0.0317},
                                      {.top_p = 0.90017},
                                      {.top_p = 0.99713},
                                      {.top_p = 0.90017, .nucleus = Nucleus::paper},
                                      {.top_k = 300, .top_p = 0.81019},
                                      {.temperature = 0.7, .top_k = 900, .top_p = 0.90017}}) {
      const std::vector<TokenProbability> found = sampling_distribution(logits, options);
      std::vector<TokenId> ids;
      double sum = 0.0;
      for (const TokenProbability& token : found) ids.push_back(token.id), sum += token.probability;
      ASSERT_EQ(ids, kept_by_sorting(logits, options)) << i << " top_k " << options.top_k << " top_p " << options.top_p;
      EXPECT_NEAR(sum, 1.0, 1e-9);
      const double uniform = random.next_uniform();
      EXPECT_EQ(sample(logits, options, uniform)->id, draw(found, uniform));
    }
  }
}

TEST(Sampler, SampleRefusesWhatIsNoNumber) {
  const std::vector<double> logits = {1.0, INFINITY, 2.0};
  EXPECT_FALSE(sample(logits, {}, 0.5));
  EXPECT_FALSE(sample(logits, {.top_k = 2}, 0.5));
  std::vector<double> many(5000, 1.0);
  many[7] = INFINITY;
  EXPECT_FALSE(sample(many, {.top_k = 2}, 0.5));
  EXPECT_FALSE(sample(many, {.top_p = 0.5}, 0.5));
}

}  // namespace
}  // namespace semfuse
