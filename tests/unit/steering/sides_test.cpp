// Tempered heads: texts that take sides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "evaluation/knob_calibration.h"
#include "generation/value_reader.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"
#include "support/steering_fixture.h"

namespace semfuse {
namespace {

// A tempered head: strengths count times its sureness, and each text takes a side, the more of them the more is asked
// for.
TEST_F(Steering, TextsTakeSidesUnderATemperedHead) {
  const SteeringHead plain = train_steering(model_, *dataset_, labels_, SteeringMethod::value, "polarity",
                                            {.steps = 60, .batch = 16, .learning_rate = 0.02, .threads = 1});
  SteeringHead head = plain;
  head.tensors.push_back({.name = "sureness", .shape = {1}, .values = {2.0f}});
  LanguageModel with_head = model();
  with_head.set_heads({{"polarity", head}});
  constexpr std::size_t kTexts = 200;
  const auto texts = [](const LanguageModel& of, const std::vector<GenerationRequest>& all) {
    std::vector<std::string> found;
    for (const Generation& each : Generator(of, 2).generate(all)) found.push_back(each.error.value_or(each.text));
    return found;
  };
  const auto by_knob = [&](double target) {
    std::vector<GenerationRequest> all = requests(kTexts, nullptr);
    for (GenerationRequest& request : all) request.knobs = {{"polarity", {target}}};
    return texts(with_head, all);
  };
  const auto by_method = [&](const SteeringHead& of, double target, double strength) {
    return texts(model_, requests(kTexts, steering_source(model_, of, target, strength)));
  };
  const std::vector<std::string> low = by_knob(0.0), high = by_knob(1.0);
  EXPECT_EQ(low, by_method(plain, 0.0, 2.0));
  EXPECT_EQ(high, by_method(plain, 1.0, 2.0));
  for (const bool is_knob : {true, false}) {
    std::vector<bool> was_high(kTexts, false);
    for (const double target : {0.0, 0.25, 0.75, 1.0}) {
      const std::vector<std::string> found = is_knob ? by_knob(target) : by_method(head, target, 1.0);
      std::size_t count = 0, differ = 0;
      for (std::size_t i = 0; i < kTexts; ++i) {
        ASSERT_TRUE(found[i] == low[i] || found[i] == high[i]) << i;
        if (low[i] == high[i]) continue;
        const bool is_high = found[i] == high[i];
        EXPECT_TRUE(is_high || !was_high[i]) << i << " turns back at " << target;
        was_high[i] = is_high;
        count += is_high ? 1 : 0;
        ++differ;
      }
      ASSERT_GT(differ, 100U);
      EXPECT_NEAR(static_cast<double>(count) / static_cast<double>(differ), target, 0.12);
    }
  }
  for (const float sureness : {0.5f, 1000.0f, NAN}) {
    head.tensors.back().values = {sureness};
    EXPECT_THROW(steering_source(model_, head, 1.0, 1.0), Error) << sureness;
  }
}

// Each side takes the strength that brings texts there, and the mixture comes to what is asked.
TEST_F(Steering, SidesAreCalibratedByTheirEnds) {
  class QuestionJudge : public Judge {
   public:
    std::vector<double> judge(std::span<const std::string> texts) const override {
      std::vector<double> values;
      for (const std::string& text : texts) values.push_back(text.find('?') != std::string::npos ? 1.0 : 0.0);
      return values;
    }
    std::string fingerprint() const override { return "question"; }
  };
  SteeringHead head = trained(SteeringMethod::value, 150);
  head.knob = "polarity";
  head.tensors.push_back({.name = "sureness", .shape = {1}, .values = {1.5f}});
  LanguageModel with_head = model();
  with_head.set_heads({{"polarity", head}});
  Knob knob = with_head.options().knobs[0];
  const QuestionJudge judge;
  const CalibrateOptions options{.n = 320, .max_tokens = 12};
  const std::optional<CalibrationResult> result = calibrate_knob(with_head, knob, &judge, options);
  ASSERT_TRUE(result);
  EXPECT_NO_THROW(check_calibration(knob, result->map));
  const std::vector<CalibrationPoint>& points = result->map.values[0];
  EXPECT_EQ(points.front().request, 0.0);
  EXPECT_EQ(points.back().request, 1.0);
  double low = 1.0, high = 0.0;  // What is reached.
  for (const CalibrationLevel& level : result->levels) {
    low = std::min(low, level.calibrated.values[0]);
    high = std::max(high, level.calibrated.values[0]);
  }
  for (const CalibrationLevel& level : result->levels) {
    const double asked = std::clamp(level.asked.values[0], low, high);
    EXPECT_NEAR(level.calibrated.values[0], asked, 0.08) << level.asked.values[0];
  }
  EXPECT_LT(result->mean_error, result->raw_mean_error + 0.01);
}

// However many are asked for, of each 32 texts as many take the side as there should be.
TEST(Sides, AreSpreadEvenlyOverTexts) {
  for (const std::uint64_t seed : {1, 7}) {
    for (std::uint64_t block = 0; block < 3; ++block) {
      for (std::size_t most = 0; most <= 32; ++most) {
        double count = 0.0;
        for (std::uint64_t i = 0; i < 32; ++i)
          count += side_of(static_cast<double>(most) / 32.0, seed, 32 * block + i, 0);
        EXPECT_EQ(count, static_cast<double>(most));
      }
    }
  }
  // Those of another seed, block or knob are others.
  const auto sides = [](std::uint64_t seed, std::uint64_t first, std::size_t knob) {
    std::vector<double> all;
    for (std::uint64_t i = 0; i < 32; ++i) all.push_back(side_of(0.5, seed, first + i, knob));
    return all;
  };
  EXPECT_NE(sides(1, 0, 0), sides(2, 0, 0));
  EXPECT_NE(sides(1, 0, 0), sides(1, 32, 0));
  EXPECT_NE(sides(1, 0, 0), sides(1, 0, 1));
}

}  // namespace
}  // namespace semfuse
