#include "evaluation/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace semfuse {
namespace {

TEST(Statistics, StudentsTIsTheTables) {
  EXPECT_NEAR(student_t(1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t(2), 4.3027, 5e-5);
  EXPECT_NEAR(student_t(3), 3.1824, 5e-5);
  EXPECT_NEAR(student_t(9), 2.2622, 5e-5);
  EXPECT_NEAR(student_t(29), 2.0452, 5e-5);
  EXPECT_NEAR(student_t(1e6), 1.9600, 5e-5);
}

// As Welch needs it.
TEST(Statistics, StudentsTTakesBrokenDegreesOfFreedom) {
  EXPECT_LT(student_t(2.5), student_t(2));
  EXPECT_GT(student_t(2.5), student_t(3));
}

TEST(Statistics, IntervalOfAMean) {
  // s = 1, so the half width is t(2) / √3.
  const Estimate three = estimate(std::vector<double>{1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(three.mean, 2.0);
  EXPECT_NEAR(three.low, 2.0 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(three.high, 2.0 + 4.302653 / std::sqrt(3.0), 1e-6);
  // s² = 2, s / √2 = 1.
  const Estimate two = estimate(std::vector<double>{4.0, 6.0});
  EXPECT_NEAR(two.low, 5.0 - 12.706205, 1e-6);
  EXPECT_NEAR(two.high, 5.0 + 12.706205, 1e-6);
  const Estimate equal = estimate(std::vector<double>(4, 1.5));
  EXPECT_DOUBLE_EQ(equal.low, 1.5);
  EXPECT_DOUBLE_EQ(equal.high, 1.5);
}

TEST(Statistics, FewValuesHaveNoInterval) {
  const Estimate one = estimate(std::vector<double>{5.0});
  EXPECT_EQ(one.mean, 5.0);
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_TRUE(std::isnan(one.high));
  const Estimate none = estimate({});
  EXPECT_TRUE(std::isnan(none.mean));
  EXPECT_TRUE(std::isnan(none.low));
  EXPECT_TRUE(std::isnan(none.high));
}

TEST(Statistics, PairedDifferenceForgetsWhatPairsShare) {
  const std::vector<double> first = {1.0, 20.0, 300.0};
  const std::vector<double> second = {0.0, 18.0, 297.0};
  const Estimate difference = paired_difference(first, second);
  EXPECT_DOUBLE_EQ(difference.mean, -2.0);
  EXPECT_NEAR(difference.low, -2.0 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(difference.high, -2.0 + 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_TRUE(std::isnan(paired_difference({}, {}).mean));
}

TEST(Statistics, WelchOfEqualVariancesHasAllDegreesOfFreedom) {
  // Each mean has variance 1/3; (2/3)² / (2 · (1/3)² / 2) = 4 degrees of freedom, whose t is 2.776445.
  const Estimate difference = welch_difference(std::vector<double>{1.0, 2.0, 3.0}, std::vector<double>{5.0, 6.0, 7.0});
  EXPECT_DOUBLE_EQ(difference.mean, 4.0);
  EXPECT_NEAR(difference.low, 4.0 - 2.776445 * std::sqrt(2.0 / 3.0), 1e-6);
  EXPECT_NEAR(difference.high, 4.0 + 2.776445 * std::sqrt(2.0 / 3.0), 1e-6);
}

TEST(Statistics, WelchOfUnequalVariances) {
  // The second mean has none: the degrees of freedom are those of the first.
  const Estimate difference = welch_difference(std::vector<double>{1.0, 2.0, 3.0}, std::vector<double>(10, 2.5));
  EXPECT_DOUBLE_EQ(difference.mean, 0.5);
  EXPECT_NEAR(difference.low, 0.5 - 4.302653 / std::sqrt(3.0), 1e-6);
  EXPECT_NEAR(difference.high, 0.5 + 4.302653 / std::sqrt(3.0), 1e-6);
  // Variances of the means 1 and 1/3: (4/3)² / (1 + 1/18) = 32/19 degrees of freedom, between one and two.
  const Estimate wide = welch_difference(std::vector<double>{4.0, 6.0}, std::vector<double>{1.0, 2.0, 3.0});
  EXPECT_DOUBLE_EQ(wide.mean, -3.0);
  EXPECT_NEAR(wide.high, -3.0 + student_t(32.0 / 19.0) * std::sqrt(4.0 / 3.0), 1e-6);
}

TEST(Statistics, WelchWithoutVarianceOrValues) {
  const Estimate exact = welch_difference(std::vector<double>{1.0, 1.0}, std::vector<double>{3.0, 3.0});
  EXPECT_EQ(exact.low, 2.0);
  EXPECT_EQ(exact.high, 2.0);
  EXPECT_TRUE(std::isnan(welch_difference(std::vector<double>{1.0}, std::vector<double>{3.0, 3.0}).low));
  EXPECT_TRUE(std::isnan(welch_difference(std::vector<double>{1.0, 2.0}, {}).high));
}

}  // namespace
}  // namespace semfuse
