#include "semfuse/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<Knob> kKnobs = {parse_knob("polarity: probability of column polarity"),
                                  parse_knob("stars: scalar of column stars from 1 to 5"),
                                  parse_knob("topic: distribution of column topic over a b c")};

KnobCalibration polarity_map() {
  return {.values = {{{0.0, 0.0, 3.0}, {0.5, 0.3, 1.0}, {1.0, 1.0, 2.0}}}, .judge = "j", .n = 100};
}

TEST(Calibration, MapsASettingBetweenItsPoints) {
  const Calibration maps = {{"polarity", polarity_map()}};
  const auto at = [&](double asked) {
    return calibrated(kKnobs, maps, std::vector<KnobSetting>{{"polarity", {asked}}});
  };
  EXPECT_EQ(at(0.0).settings[0].values[0], 0.0);
  EXPECT_EQ(at(0.0).guidance, 3.0);
  EXPECT_NEAR(at(0.25).settings[0].values[0], 0.15, 1e-12);
  EXPECT_NEAR(at(0.25).guidance, 2.0, 1e-12);
  EXPECT_NEAR(at(0.75).settings[0].values[0], 0.65, 1e-12);
  EXPECT_EQ(at(0.5).guidance, 1.0);
  EXPECT_EQ(at(1.0).guidance, 2.0);
}

TEST(Calibration, TakesTheLargestGuidanceAndLeavesOthersAsTheyAre) {
  Calibration maps = {{"polarity", polarity_map()}};
  maps["stars"] = {.values = {{{1.0, 1.0, 1.5}, {5.0, 5.0, 1.5}}}, .judge = "k", .n = 10};
  const CalibratedRequest both = calibrated(
      kKnobs, maps, std::vector<KnobSetting>{{"polarity", {0.5}}, {"stars", {2.0}}, {"topic", {0.2, 0.3, 0.5}}});
  EXPECT_EQ(both.guidance, 1.5);
  EXPECT_EQ(both.settings[0].values[0], 0.3);
  EXPECT_EQ(both.settings[1].values[0], 2.0);
  EXPECT_EQ(both.settings[2].values, (std::vector<double>{0.2, 0.3, 0.5}));
  EXPECT_EQ(calibrated(kKnobs, maps, {}).guidance, 1.0);
}

TEST(Calibration, WeightsOfADistributionSumToOneAgain) {
  const std::vector<CalibrationPoint> strong = {{0.0, 0.0, 1.0}, {0.5, 0.8, 1.0}, {1.0, 1.0, 2.0}};
  const std::vector<CalibrationPoint> plain = {{0.0, 0.0, 1.0}, {1.0, 1.0, 1.0}};
  const Calibration maps = {{"topic", {.values = {strong, plain, plain}, .judge = "j", .n = 10}}};
  const CalibratedRequest half = calibrated(kKnobs, maps, std::vector<KnobSetting>{{"topic", {0.5, 0.5, 0.0}}});
  EXPECT_NEAR(half.settings[0].values[0], 0.8 / 1.3, 1e-12);
  EXPECT_NEAR(half.settings[0].values[1], 0.5 / 1.3, 1e-12);
  EXPECT_EQ(half.settings[0].values[2], 0.0);
  EXPECT_EQ(half.guidance, 1.0);
  EXPECT_EQ(calibrated(kKnobs, maps, std::vector<KnobSetting>{{"topic", {1.0, 0.0, 0.0}}}).guidance, 2.0);
}

// Beside label b polarity takes a map of its own, beside half of it half the way there, and nothing beside others.
TEST(Calibration, BesideALabelItTakesWhatIsSaidThere) {
  KnobCalibration map = polarity_map();
  map.beside = {{.knob = "topic", .label = 1, .points = {{0.0, 0.4, 2.0}, {1.0, 0.9, 4.0}}}};
  check_calibration(kKnobs[0], map);
  check_beside(kKnobs, kKnobs[0], map);
  const auto at = [&](std::vector<double> topic) {
    const std::vector<KnobSetting> settings = {{"topic", std::move(topic)}, {"polarity", {0.5}}};
    return calibrated(kKnobs, {{"polarity", map}}, settings);
  };
  EXPECT_NEAR(at({0.0, 1.0, 0.0}).settings[1].values[0], 0.65, 1e-12);
  EXPECT_NEAR(at({0.0, 1.0, 0.0}).each[1], 3.0, 1e-12);
  EXPECT_EQ(at({0.0, 1.0, 0.0}).each[0], 1.0);
  EXPECT_NEAR(at({0.5, 0.5, 0.0}).settings[1].values[0], 0.475, 1e-12);
  EXPECT_NEAR(at({0.5, 0.5, 0.0}).guidance, 2.0, 1e-12);
  EXPECT_EQ(at({1.0, 0.0, 0.0}).settings[1].values[0], 0.3);
  map.beside[0].points = {{0.5, 0.5, 0.5}};
  EXPECT_THROW(check_calibration(kKnobs[0], map), Error);
  map.beside[0] = {.knob = "topic", .label = 3, .points = {{0.5, 0.5, 1.0}}};
  EXPECT_THROW(check_beside(kKnobs, kKnobs[0], map), Error);
  map.beside[0] = {.knob = "stars", .label = 0, .points = {{0.5, 0.5, 1.0}}};
  EXPECT_THROW(check_beside(kKnobs, kKnobs[0], map), Error);
}

TEST(Calibration, RefusesWhatIsNoMap) {
  const auto refused = [](const KnobCalibration& map, const char* what) {
    EXPECT_THAT([&] { check_calibration(kKnobs[0], map); }, ThrowsMessage<Error>(HasSubstr(what)));
  };
  EXPECT_NO_THROW(check_calibration(kKnobs[0], polarity_map()));
  refused({}, "not as many values");
  refused({.values = {{}}}, "no points");
  refused({.values = {{{0.0, 1.5, 1.0}}}}, "out of its range");
  refused({.values = {{{0.0, 0.5, 0.5}}}}, "guidance");
  refused({.values = {{{0.0, 0.5, 1.0}, {1.0, 0.4, 1.0}}}}, "not monotone");
  refused({.values = {{{0.5, 0.5, 1.0}, {0.5, 0.6, 1.0}}}}, "not monotone");
}

}  // namespace
}  // namespace semfuse
