#include "evaluation/knob_calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

// Finds a text positive as often as its length says, whatever it holds: a model that was asked for nothing is none.
class LengthJudge : public Judge {
 public:
  std::vector<double> judge(std::span<const std::string> texts) const override {
    std::vector<double> values;
    for (const std::string& text : texts) values.push_back(text.size() % 3 == 0 ? 0.9 : 0.2);
    return values;
  }
  std::string fingerprint() const override { return "length"; }
};

LanguageModel small_model() {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {parse_knob("kind: probability of column kind"),
                   parse_knob("strength: scalar of strength from 0 to 1"),
                   parse_knob("mark: distribution of column mark over a b")};
  return random_model(options);
}

TEST(KnobCalibration, GivesAMonotoneMapAndTheSameForAnyNumberOfThreads) {
  const LanguageModel model = small_model();
  const Knob& knob = model.options().knobs[0];
  const LengthJudge judge;
  const auto result = calibrate_knob(model, knob, &judge, {.n = 20, .threads = 1, .max_tokens = 8});
  ASSERT_TRUE(result);
  EXPECT_NO_THROW(check_calibration(knob, result->map));
  EXPECT_EQ(result->map.judge, "length");
  EXPECT_EQ(result->map.n, 20u);
  ASSERT_EQ(result->levels.size(), 11u);
  EXPECT_EQ(result->levels[3].asked.values[0], 0.3);
  ASSERT_EQ(result->map.beside.size(), 2u);
  EXPECT_EQ(result->map.beside[1].knob, "mark");
  EXPECT_EQ(result->map.beside[1].label, 1u);
  EXPECT_EQ(result->map.beside[1].points.size(), result->map.values[0].size());
  const auto again = calibrate_knob(model, knob, &judge, {.n = 20, .threads = 3, .max_tokens = 8});
  EXPECT_EQ(again->map, result->map);
  EXPECT_EQ(again->mean_error, result->mean_error);
  EXPECT_NE(calibrate_knob(model, knob, &judge, {.n = 20, .seed = 2, .max_tokens = 8})->mean_error, result->mean_error);
}

TEST(KnobCalibration, MeasuresWhatTextsShowWithoutAJudge) {
  const LanguageModel model = small_model();
  const Knob& knob = model.options().knobs[1];
  const auto result = calibrate_knob(model, knob, nullptr, {.n = 20, .max_tokens = 8});
  ASSERT_TRUE(result);
  EXPECT_NO_THROW(check_calibration(knob, result->map));
  EXPECT_EQ(result->map.judge, "text");
  EXPECT_THROW(calibrate_knob(model, model.options().knobs[0], nullptr, {.n = 20}), Error);
}

TEST(KnobCalibration, OfADistributionEachLabelHasAMap) {
  class HalfJudge : public LengthJudge {
   public:
    std::vector<double> judge(std::span<const std::string> texts) const override {
      std::vector<double> values;
      for (const std::string& text : texts) {
        values.push_back(text.size() % 2 == 0 ? 0.7 : 0.3);
        values.push_back(1.0 - values.back());
      }
      return values;
    }
  };
  const LanguageModel model = small_model();
  const Knob& knob = model.options().knobs[2];
  const auto result = calibrate_knob(model, knob, std::make_unique<HalfJudge>().get(), {.n = 10, .max_tokens = 8});
  ASSERT_TRUE(result);
  EXPECT_NO_THROW(check_calibration(knob, result->map));
  ASSERT_EQ(result->map.values.size(), 2u);
  for (const auto& points : result->map.values) EXPECT_EQ(points.front(), (CalibrationPoint{0.0, 0.0, 1.0}));
  EXPECT_GE(result->levels.size(), 12u);
}

TEST(KnobCalibration, StopsWhenItIsTold) {
  const LanguageModel model = small_model();
  const LengthJudge judge;
  EXPECT_FALSE(calibrate_knob(model, model.options().knobs[0], &judge,
                              {.n = 20, .max_tokens = 8, .go_on = [](double) { return false; }}));
}

// The map decides what a sentence is asked for; without it, or with guidance that undoes it, it does not.
TEST(KnobCalibration, TheGeneratorUsesTheMap) {
  LanguageModel model = small_model();
  const auto texts = [&](double asked, bool calibrated, double guidance = 1.0) {
    const Generator generator(model);
    std::vector<GenerationRequest> requests;
    for (std::uint64_t i = 0; i < 8; ++i) {
      requests.push_back(
          {.knobs = {{"kind", {asked}}}, .guidance = guidance, .calibrated = calibrated, .max_tokens = 8, .index = i});
    }
    std::string all;
    for (const Generation& generation : generator.generate(requests)) all += generation.text + '\n';
    return all;
  };
  const std::string at_low = texts(0.25, true), at_high = texts(0.75, true), guided = texts(0.75, true, 3.0);
  ASSERT_NE(at_low, at_high);
  ASSERT_NE(guided, at_high);
  model.set_calibration({{"kind", {.values = {{{0.0, 0.75, 1.0}, {0.5, 0.75, 1.0}, {1.0, 0.75, 5.0}}}}}});
  EXPECT_EQ(texts(0.25, true), at_high);
  EXPECT_EQ(texts(0.25, false), at_low);
  EXPECT_EQ(texts(0.75, true), guided);       // The guidance of the map, between its points;
  EXPECT_EQ(texts(0.25, true, 3.0), guided);  // or what is asked for on top of it.
}

}  // namespace
}  // namespace semfuse
