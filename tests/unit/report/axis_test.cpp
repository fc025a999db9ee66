#include "report/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace semfuse {
namespace {

using testing::ElementsAre;

TEST(AxisTicks, AreRoundNumbers) {
  EXPECT_THAT(axis_ticks(0.0, 10.0, 5), ElementsAre(0.0, 2.0, 4.0, 6.0, 8.0, 10.0));
  EXPECT_THAT(axis_ticks(0.0, 1.0, 4), ElementsAre(0.0, 0.25, 0.5, 0.75, 1.0));
  EXPECT_THAT(axis_ticks(1.0, 6.0, 8), ElementsAre(1.0, 2.0, 3.0, 4.0, 5.0, 6.0));
  EXPECT_THAT(axis_ticks(110.0, 390.0, 3), ElementsAre(200.0, 300.0));
}

TEST(AxisTicks, LieInTheRangeInEqualSteps) {
  for (const double scale : {1e-6, 0.003, 1.0, 7.7, 1e9}) {
    for (const double from : {-3.3, -1.0, 0.0, 2.2}) {
      for (const std::size_t count : {3U, 6U, 8U}) {
        const double low = from * scale, high = (from + 4.1) * scale;
        const std::vector<double> ticks = axis_ticks(low, high, count);
        ASSERT_GE(ticks.size(), 2U) << low << ' ' << high;
        EXPECT_LE(ticks.size(), count + 1) << low << ' ' << high;
        const double step = ticks[1] - ticks[0];
        EXPECT_GE(ticks.front(), low - 1e-6 * step);
        EXPECT_LT(ticks.front(), low + step * 1.000001);
        EXPECT_LE(ticks.back(), high + 1e-6 * step);
        EXPECT_GT(ticks.back(), high - step * 1.000001);
        for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_NEAR(ticks[i] - ticks[i - 1], step, 1e-6 * step);
      }
    }
  }
}

TEST(AxisTicks, ZeroHasNoSign) {
  for (const double tick : axis_ticks(-0.3, 0.3, 6)) {
    if (std::abs(tick) < 1e-12) {
      EXPECT_FALSE(std::signbit(tick));
    }
  }
}

TEST(AxisTicks, AnEmptyRangeHasNone) {
  EXPECT_TRUE(axis_ticks(5.0, 5.0, 6).empty());
  EXPECT_TRUE(axis_ticks(0.0, 0.0, 6).empty());
  EXPECT_TRUE(axis_ticks(2.0, 1.0, 6).empty());
}

TEST(AxisTicks, OfALogarithmAreFewAndRound) {
  EXPECT_THAT(logarithmic_ticks(0.9, 60.0, 6), ElementsAre(1.0, 2.0, 5.0, 10.0, 20.0, 50.0));
  EXPECT_THAT(logarithmic_ticks(2.6, 3.4, 4), testing::Pointwise(testing::DoubleEq(), {2.6, 2.8, 3.0, 3.2, 3.4}))
      << "evenly spaced within a decade";
  for (const double high : {1e3, 1e8, 1e32, 1e280}) {
    const std::vector<double> ticks = logarithmic_ticks(1.5, high, 6);
    EXPECT_GE(ticks.size(), 3U) << high;
    EXPECT_LE(ticks.size(), 12U) << high;
  }
}

TEST(Axis, SpansWhatIsShown) {
  const std::vector<double> values = {NAN, 1.0, 100.0, -5.0, INFINITY};
  const Axis logarithmic(values, {}, Scale::logarithmic, 5, 0.0);
  EXPECT_DOUBLE_EQ(logarithmic.place(10.0), 0.5);
  EXPECT_FALSE(logarithmic.has_place(-5.0));
  EXPECT_FALSE(logarithmic.has_place(NAN));
  const Axis linear(values, {}, Scale::linear, 5, 0.0);
  EXPECT_EQ(linear.low(), -5.0);
  EXPECT_EQ(linear.high(), 100.0);
  EXPECT_EQ(linear.place(47.5), 0.5);
  // A mark that has no logarithm must be shown all the same.
  const std::vector<double> zero = {0.0};
  EXPECT_TRUE(Axis(values, zero, Scale::logarithmic, 5, 0.0).has_place(-5.0));
}

}  // namespace
}  // namespace semfuse
