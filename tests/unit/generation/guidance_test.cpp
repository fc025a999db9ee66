#include "generation/guidance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace semfuse {
namespace {

std::vector<float> guided_logits_of(const std::vector<double>& probabilities, double shift) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p) + shift));
  return logits;
}

std::vector<double> guided(const std::vector<double>& unasked, const std::vector<double>& asked, double guidance,
                           double shift = 0.0) {
  std::vector<float> logits = guided_logits_of(asked, shift);
  guide(guided_logits_of(unasked, 2.0 * shift), logits, guidance, *std::ranges::max_element(logits));
  std::vector<double> result;
  for (const float logit : logits) result.push_back(std::exp(logit));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& p : result) p /= sum;
  return result;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

const std::vector<double> kUnasked = {0.50, 0.44, 0.05, 0.01};
const std::vector<double> kAsked = {0.25, 0.66, 0.04, 0.05};

TEST(Guidance, NothingAtZeroAndAsAskedAtOne) {
  expect_near(guided(kUnasked, kAsked, 0.0), kUnasked);
  expect_near(guided(kUnasked, kAsked, 1.0), kAsked);
}

TEST(Guidance, IsAPowerOfTheRatioAmongPlausibleTokens) {
  // p0 · (p1 / p0)^2 of the first two is 0.125 and 0.99, and they keep their 0.91 together.
  const double sum = 0.125 + 0.66 * 0.66 / 0.44;
  // The third falls to 0.032, the last would rise fivefold and stays.
  const std::vector<double> expected = {0.91 * 0.125 / sum, 0.91 * 0.99 / sum, 0.032, 0.05};
  const double all = std::accumulate(expected.begin(), expected.end(), 0.0);
  std::vector<double> normalised;
  for (const double p : expected) normalised.push_back(p / all);
  expect_near(guided(kUnasked, kAsked, 2.0), normalised);
}

// What a model adds to all logits means nothing.
TEST(Guidance, AConstantChangesNothing) {
  for (const double guidance : {0.5, 2.0, 7.0})
    expect_near(guided(kUnasked, kAsked, guidance, 3.0), guided(kUnasked, kAsked, guidance));
}

// The fault: tokens that the model holds for improbable took over, since those that it holds for probable fell.
TEST(Guidance, ImprobableTokensAreNeverLifted) {
  const std::vector<double> unasked = {0.58, 0.40, 0.0199, 0.0001};
  const std::vector<double> asked = {0.55, 0.41, 0.03, 0.01};
  for (const double guidance : {1.5, 2.0, 3.0, 5.0, 10.0, kMostGuidance}) {
    const std::vector<double> found = guided(unasked, asked, guidance);
    EXPECT_LE(found[2] + found[3], 0.04 + 1e-6) << guidance;
    EXPECT_LE(found[0], 0.55) << guidance;
  }
}

// Where a grammar allows only words that the model would not say, guidance still chooses among them.
TEST(Guidance, WhatIsPlausibleGoesByWhatMayBeDrawn) {
  std::vector<float> logits = guided_logits_of({0.98, 0.008, 0.012}, 0.0);
  guide(guided_logits_of({0.994, 0.004, 0.002}, 0.0), logits, 3.0, logits[2]);
  EXPECT_NEAR(logits[2] - logits[1], std::log(0.002 / 0.004) + 3.0 * std::log((0.012 / 0.002) / (0.008 / 0.004)), 1e-4);
}

}  // namespace
}  // namespace semfuse
