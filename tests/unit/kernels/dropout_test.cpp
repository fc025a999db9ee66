#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/activations.h"
#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

constexpr double kRate = 0.3;

TEST(DropoutMask, DefaultKeepsEverything) {
  const DropoutMask mask;
  EXPECT_FALSE(mask.active());
  EXPECT_EQ(mask.scale, 1.0f);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_TRUE(mask.keeps(i, 3 * i));
}

TEST(DropoutMask, MeetsItsRate) {
  for (const double rate : {0.01, 0.1, 0.3, 0.5, 0.9}) {
    const DropoutMask mask(rate, 1, 2, 3);
    EXPECT_TRUE(mask.active());
    EXPECT_NEAR(static_cast<double>(mask.scale), 1.0 / (1.0 - rate), 1e-3 / (1.0 - rate));
    constexpr std::size_t kRows = 400;
    constexpr std::size_t kCols = 500;
    std::size_t dropped = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kCols; ++j) dropped += mask.keeps(i, j) ? 0 : 1;
    }
    const double deviation = std::sqrt(rate * (1.0 - rate) / (kRows * kCols));
    EXPECT_NEAR(static_cast<double>(dropped) / (kRows * kCols), rate, 5.0 * deviation);
  }
}

// The share of places where two shifted masks agree, less what independence gives; in standard deviations.
double dependence(const DropoutMask& a, const DropoutMask& b, std::size_t row_shift, std::size_t column_shift) {
  constexpr std::size_t kRows = 300;
  constexpr std::size_t kCols = 200;
  const double variance = kRate * (1.0 - kRate);
  double sum = 0.0;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kCols; ++j) {
      const double x = a.keeps(i, j) ? kRate : kRate - 1.0;
      const double y = b.keeps(i + row_shift, j + column_shift) ? kRate : kRate - 1.0;
      sum += x * y;
    }
  }
  return std::abs(sum / variance) / std::sqrt(static_cast<double>(kRows * kCols));
}

TEST(DropoutMask, NeighboursAreUncorrelated) {
  const DropoutMask mask(kRate, 5, 0, 0);
  for (const std::size_t shift : {1, 2, 3, 4, 8, 15, 16, 17, 32, 48, 64}) {
    EXPECT_LT(dependence(mask, mask, 0, shift), 4.5) << "columns " << shift << " apart";
    EXPECT_LT(dependence(mask, mask, shift, 0), 4.5) << "rows " << shift << " apart";
    EXPECT_LT(dependence(mask, mask, shift, shift), 4.5) << "diagonal " << shift;
  }
  EXPECT_GT(dependence(mask, mask, 0, 0), 100.0);
}

TEST(DropoutMask, SeedsStepsAndSitesAreUncorrelated) {
  const DropoutMask mask(kRate, 5, 6, 7);
  EXPECT_LT(dependence(mask, DropoutMask(kRate, 6, 6, 7), 0, 0), 4.5);
  EXPECT_LT(dependence(mask, DropoutMask(kRate, 5, 7, 7), 0, 0), 4.5);
  EXPECT_LT(dependence(mask, DropoutMask(kRate, 5, 6, 8), 0, 0), 4.5);
}

TEST(DropoutForward, DropsWhatTheMaskDrops) {
  const DropoutMask mask(kRate, 3, 1, 4);
  for (std::size_t cols = 1; cols <= 140; cols += cols < 70 ? 1 : 7) {
    const std::size_t first_row = cols * 13;
    const Placement placement = placements()[cols % placements().size()];
    for_each_instruction_set([&] {
      GuardedMatrix x(5, cols, placement);
      x.fill([](std::size_t i, std::size_t j) { return 1.0 + static_cast<double>(i * 200 + j); });
      dropout_forward(x.view(), mask, first_row);
      const double worst = worst_difference(x.view(), [&](std::size_t i, std::size_t j) {
        return mask.keeps(first_row + i, j) ? (1.0f + static_cast<float>(i * 200 + j)) * mask.scale : 0.0f;
      });
      ASSERT_EQ(worst, 0.0) << cols << " columns";
      ASSERT_TRUE(x.guards_intact()) << cols << " columns";
    });
  }
}

TEST(DropoutForward, DoesNothingWithoutDropout) {
  GuardedMatrix x(3, 21);
  x.fill(UniformNumbers(1));
  dropout_forward(x.view(), DropoutMask(), 0);
  EXPECT_EQ(worst_difference(x.view(), UniformNumbers(1)), 0.0);
}

}  // namespace
}  // namespace semfuse
