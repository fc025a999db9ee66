#include "kernels/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/random.h"
#include "kernels/reductions.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

constexpr std::size_t kSizes[] = {kWeightBlock, 2 * kWeightBlock, 5 * kWeightBlock, 40 * kWeightBlock};

std::vector<float> logits_of(std::size_t size) {
  RandomStream random(size, RandomPurpose::sampling);
  std::vector<float> logits(size);
  for (float& logit : logits) {
    logit = random.next_below(7) == 0 ? -INFINITY : static_cast<float>(20.0 * random.next_uniform() - 15.0);
  }
  logits[size / 2] = 5.0f;
  return logits;
}

std::vector<double> exact_weights(const std::vector<float>& logits, double temperature) {
  std::vector<double> weights;
  for (const float logit : logits) weights.push_back(std::exp((static_cast<double>(logit) - 5.0) / temperature));
  return weights;
}

TEST(ExponentialWeights, EqualAPlainLoop) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> logits = logits_of(size);
    for (const double temperature : {1.0, 0.3, 7.0, 0.001}) {
      const std::vector<double> expected = exact_weights(logits, temperature);
      for_each_instruction_set([&] {
        std::vector<double> weights(size, -1.0), sums(size / kWeightBlock, -1.0);
        const double sum = exponential_weights(logits.data(), size, 5.0f, temperature, weights.data(), sums.data());
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_NEAR(weights[i], expected[i], 1e-14 * expected[i]) << i;
          ASSERT_EQ(weights[i] == 0.0, logits[i] == -INFINITY || expected[i] == 0.0) << i;
        }
        for (std::size_t block = 0; block < sums.size(); ++block) {
          const auto first = weights.begin() + static_cast<std::ptrdiff_t>(block * kWeightBlock);
          EXPECT_NEAR(sums[block], std::accumulate(first, first + kWeightBlock, 0.0), 1e-14 * sums[block]);
        }
        EXPECT_NEAR(sum, std::accumulate(expected.begin(), expected.end(), 0.0), 1e-13 * sum);
      });
    }
  }
}

TEST(Weights, AreSummedFoundAndDroppedByLimits) {
  for (const std::size_t size : kSizes) {
    const std::vector<double> all = exact_weights(logits_of(size), 2.0);
    const WeightLimits limits = {2.0, all[size / 3], 0.01, 0.0};
    for_each_instruction_set([&] {
      const WeightLimits sums = sums_from(all.data(), size, limits);
      for (std::size_t i = 0; i < limits.size(); ++i) {
        double expected = 0.0;
        for (const double weight : all) expected += weight >= limits[i] ? weight : 0.0;
        EXPECT_NEAR(sums[i], expected, 1e-13 * expected);
      }
      std::vector<double> found(size), expected, kept = all, block_sums(size / kWeightBlock);
      for (const double weight : all) {
        if (weight >= 0.001 && weight < 0.1) expected.push_back(weight);
      }
      found.resize(weights_between(all.data(), size, 0.001, 0.1, found.data()));
      EXPECT_EQ(found, expected);
      const double sum = drop_weights_below(kept.data(), size, 0.01, block_sums.data());
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(kept[i], all[i] >= 0.01 ? all[i] : 0.0);
      EXPECT_NEAR(sum, sums[2], 1e-13 * sum);
      EXPECT_NEAR(std::accumulate(block_sums.begin(), block_sums.end(), 0.0), sum, 1e-13 * sum);
    });
  }
}

TEST(AllFinite, SeesOneThatIsNotAtEveryPlace) {
  for (const std::size_t size : {1, 2, 15, 16, 17, 33, 64, 131}) {
    std::vector<float> numbers(size, 3e38f);
    for_each_instruction_set([&] { ASSERT_TRUE(all_finite(numbers.data(), size)); });
    for (std::size_t i = 0; i < size; ++i) {
      for (const float bad : {INFINITY, -INFINITY, NAN}) {
        numbers[i] = bad;
        for_each_instruction_set([&] { ASSERT_FALSE(all_finite(numbers.data(), size)) << i << " of " << size; });
      }
      numbers[i] = -3e38f;
    }
  }
}

}  // namespace
}  // namespace semfuse
