#include "evaluation/response_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace semfuse {
namespace {

using testing::ElementsAre;

TEST(Isotonic, PoolsWhatFalls) {
  EXPECT_THAT(isotonic({1, 2, 3}, {1, 1, 1}), ElementsAre(1, 2, 3));
  EXPECT_THAT(isotonic({1, 3, 2, 4}, {1, 1, 1, 1}), ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(isotonic({3, 2, 1}, {1, 1, 1}), ElementsAre(2, 2, 2));
  EXPECT_THAT(isotonic({4, 1}, {3, 1}), ElementsAre(3.25, 3.25));  // By weight.
  // A block that falls below one before it takes that in too.
  EXPECT_THAT(isotonic({1, 5, 4, 0}, {1, 1, 1, 1}), ElementsAre(1, 3, 3, 3));
}

std::vector<ResponseCurve::Point> points(const std::vector<double>& values, double weight = 1000.0) {
  std::vector<ResponseCurve::Point> list;
  for (std::size_t i = 0; i < values.size(); ++i)
    list.push_back({.place = static_cast<double>(i), .realised = values[i], .weight = weight});
  return list;
}

TEST(ResponseCurve, IsMonotoneAndInvertedByItsInverse) {
  const ResponseCurve curve(points({0.2, 0.25, 0.24, 0.4, 0.5, 0.49, 0.7, 0.9}), true);
  double before = -1.0, place_before = -1.0;
  for (double place = 0.0; place <= 7.0; place += 0.1) {
    EXPECT_GE(curve.at(place), before);
    before = curve.at(place);
  }
  for (double value = curve.lowest(); value <= curve.highest(); value += 0.01) {
    const double place = curve.inverse(value, 0.02);
    EXPECT_GE(place, place_before);
    EXPECT_NEAR(curve.at(place), value, 1e-9);
    place_before = place;
  }
}

TEST(ResponseCurve, FollowsASmoothCurveCloserThanItsPoints) {
  // A logistic curve with errors that alternate.
  std::vector<ResponseCurve::Point> noisy;
  const auto truth = [](double place) { return 1.0 / (1.0 + std::exp(-(place - 5.0) * 0.5)); };
  for (int i = 0; i <= 20; ++i) {
    const double place = 0.5 * i;
    noisy.push_back({.place = place, .realised = truth(place) + (i % 2 == 0 ? 0.015 : -0.015), .weight = 1000.0});
  }
  const ResponseCurve curve(noisy, true);
  for (double place = 1.0; place <= 9.0; place += 0.25) EXPECT_NEAR(curve.at(place), truth(place), 0.0075);
}

TEST(ResponseCurve, OfWhatItDoesNotReachTakesWhatIsCloseEnough) {
  const ResponseCurve curve(points({2.0, 4.0, 6.0, 8.0}), false);
  EXPECT_DOUBLE_EQ(curve.inverse(1.0, 0.1), 0.0);  // Not within reach: the end.
  EXPECT_DOUBLE_EQ(curve.inverse(9.0, 0.1), 3.0);
  EXPECT_NEAR(curve.inverse(1.8, 0.4), 0.1, 1e-9);  // 2.2 is close enough.
  EXPECT_NEAR(curve.inverse(8.2, 0.4), 2.9, 1e-9);
  EXPECT_NEAR(curve.inverse(5.0, 0.4), 1.5, 1e-9);  // What is reached is met exactly.
}

TEST(ResponseCurve, WhatSpoilsTheEndsIsDropped) {
  // 0 to 3 are requests; beyond them guidance grows, and at last breaks texts.
  const auto left = [](std::vector<double> realised) {
    std::vector<ResponseCurve::Point> all = points(realised);
    for (ResponseCurve::Point& point : all) point.place -= 2.0;
    drop_spoilt_ends(3.0, 0.02, all);
    std::vector<double> places;
    for (const ResponseCurve::Point& point : all) places.push_back(point.place);
    return places;
  };
  EXPECT_THAT(left({0.3, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.7, 0.3}), ElementsAre(-1, 0, 1, 2, 3, 4));
  EXPECT_THAT(left({0.1, 0.11, 0.2, 0.4, 0.6, 0.8, 0.9, 0.91, 0.895}), ElementsAre(-2, -1, 0, 1, 2, 3, 4, 5, 6));
  // A request is never dropped.
  EXPECT_THAT(left({0.5, 0.4, 0.2, 0.4, 0.9, 0.8, 0.7, 0.3, 0.2}), ElementsAre(0, 1, 2, 3));
}

TEST(ResponseCurve, OfOnePointIsFlat) {
  const ResponseCurve flat(points({0.5, 0.5, 0.5}), true);
  EXPECT_NEAR(flat.at(1.7), 0.5, 1e-3);
  EXPECT_TRUE(std::isfinite(flat.inverse(0.1, 0.01)));
}

}  // namespace
}  // namespace semfuse
