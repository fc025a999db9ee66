#include "core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace semfuse {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;

TEST(Random, MixBitsIsSplitMix64) {
  // The first numbers of the published generator with state 0.
  static_assert(mix_bits(1 * kGolden) == 0xE220A8397B1DCDAFull);
  static_assert(mix_bits(2 * kGolden) == 0x6E789E6AA1B965F4ull);
  static_assert(mix_bits(3 * kGolden) == 0x06C45D188009454Full);
  static_assert(mix_bits(0) == 0);
}

TEST(Random, DependsOnSeedPurposeStepAndIndexOnly) {
  const RandomStream stream(7, RandomPurpose::shuffle, 3);
  EXPECT_EQ(stream.bits(11), RandomStream(7, RandomPurpose::shuffle, 3).bits(11));
  EXPECT_NE(stream.bits(11), RandomStream(8, RandomPurpose::shuffle, 3).bits(11));
  EXPECT_NE(stream.bits(11), RandomStream(7, RandomPurpose::weights, 3).bits(11));
  EXPECT_NE(stream.bits(11), RandomStream(7, RandomPurpose::shuffle, 4).bits(11));
  EXPECT_NE(stream.bits(11), stream.bits(12));
}

TEST(Random, StreamsShareNoNumbers) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (std::uint64_t purpose = 1; purpose <= 6; ++purpose) {
      for (std::uint64_t step = 0; step < 8; ++step) {
        const RandomStream stream(seed, static_cast<RandomPurpose>(purpose), step);
        for (std::uint64_t i = 0; i < 50; ++i, ++drawn) seen.insert(stream.bits(i));
      }
    }
  }
  EXPECT_EQ(seen.size(), drawn);
}

double correlation(const RandomStream& a, std::uint64_t shift_a, const RandomStream& b, std::uint64_t shift_b) {
  constexpr std::uint64_t kCount = 20000;
  double sum = 0.0;
  for (std::uint64_t i = 0; i < kCount; ++i) sum += (a.uniform(i + shift_a) - 0.5) * (b.uniform(i + shift_b) - 0.5);
  return 12.0 * sum / kCount;
}

TEST(Random, PurposesStepsSeedsAndNeighboursAreUncorrelated) {
  const RandomStream stream(1, RandomPurpose::dropout, 5);
  constexpr double kLimit = 5.0 / 141.4;  // Five standard deviations of 20000 pairs.
  EXPECT_LT(std::abs(correlation(stream, 0, RandomStream(1, RandomPurpose::shuffle, 5), 0)), kLimit);
  EXPECT_LT(std::abs(correlation(stream, 0, RandomStream(1, RandomPurpose::dropout, 6), 0)), kLimit);
  EXPECT_LT(std::abs(correlation(stream, 0, RandomStream(2, RandomPurpose::dropout, 5), 0)), kLimit);
  EXPECT_LT(std::abs(correlation(stream, 0, stream, 1)), kLimit);
  EXPECT_NEAR(correlation(stream, 0, stream, 0), 1.0, 0.05);
}

TEST(Random, UniformFillsTheUnitInterval) {
  const RandomStream stream(3, RandomPurpose::weights);
  constexpr std::size_t kCount = 100000;
  std::vector<std::size_t> bins(10);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double u = stream.uniform(i);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ++bins[static_cast<std::size_t>(u * 10.0)];
  }
  for (const std::size_t bin : bins) EXPECT_NEAR(static_cast<double>(bin), 10000.0, 500.0);
}

TEST(Random, BelowStaysBelowAndReachesEverything) {
  const RandomStream stream(4, RandomPurpose::corpus_train);
  for (std::uint64_t bound = 1; bound <= 40; ++bound) {
    std::vector<std::size_t> counts(bound);
    for (std::uint64_t i = 0; i < 200 * bound; ++i) {
      const std::uint64_t n = stream.below(i, bound);
      ASSERT_LT(n, bound);
      ++counts[n];
    }
    for (const std::size_t count : counts) EXPECT_NEAR(static_cast<double>(count), 200.0, 100.0) << "bound " << bound;
  }
  EXPECT_LT(stream.below(0, ~std::uint64_t{0}), ~std::uint64_t{0});
}

TEST(Random, NormalHasTheMomentsOfANormal) {
  const RandomStream stream(5, RandomPurpose::weights);
  constexpr std::size_t kCount = 100000;
  double moments[5] = {};
  std::size_t beyond_two = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = stream.normal(i);
    ASSERT_TRUE(std::isfinite(x));
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x, power) / kCount;
    beyond_two += std::abs(x) > 2.0 ? 1 : 0;
  }
  EXPECT_NEAR(moments[1], 0.0, 0.02);
  EXPECT_NEAR(moments[2], 1.0, 0.03);
  EXPECT_NEAR(moments[3], 0.0, 0.06);
  EXPECT_NEAR(moments[4], 3.0, 0.2);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kCount, 0.0455, 0.004);
}

TEST(Random, SequenceIsTheIndexedNumbers) {
  RandomStream sequence(6, RandomPurpose::shuffle);
  const RandomStream indexed = sequence;
  EXPECT_EQ(sequence.next_uniform(), indexed.uniform(0));
  EXPECT_EQ(sequence.next_below(100), indexed.below(1, 100));
  EXPECT_EQ(sequence.next_uniform(), indexed.uniform(2));
}

}  // namespace
}  // namespace semfuse
