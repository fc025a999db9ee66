// Distributions of tokens: made by hand, compared, drawn from.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/random.h"
#include "semfuse/generator.h"

namespace semfuse {

inline constexpr double kForbidden = -INFINITY;

inline std::vector<double> logits_of(const std::vector<double>& probabilities) {
  std::vector<double> logits;
  for (const double p : probabilities) logits.push_back(p == 0.0 ? kForbidden : std::log(p) + 3.0);
  return logits;
}

inline void expect_distribution(const std::vector<TokenProbability>& found,
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
inline void expect_draws(const std::vector<TokenProbability>& distribution,
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

}  // namespace semfuse
