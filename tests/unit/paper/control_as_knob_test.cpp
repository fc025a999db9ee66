#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"
#include "semfuse/paper_controls.h"

namespace semfuse {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<Knob>& three_knobs() {
  static const std::vector<Knob> knobs = {parse_knob("polarity: probability of polarity"),
                                          parse_knob("strength: scalar of strength from 0.2 to 1"),
                                          parse_knob("mark: distribution of final_mark over . ! ?")};
  return knobs;
}

std::string refusal(std::span<const Knob> knobs, const char* text) {
  try {
    control_as_knob(knobs, text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ControlAsKnob, AsksForTheSame) {
  EXPECT_EQ(control_as_knob(three_knobs(), "pos_high=0.95"), (KnobSetting{"polarity", {0.95}}));
  EXPECT_EQ(control_as_knob(three_knobs(), "neg_high=0.95"), (KnobSetting{"polarity", {1.0 - 0.95}}));
  EXPECT_EQ(control_as_knob(three_knobs(), "str_high=0.9"), (KnobSetting{"strength", {0.9}}));
  EXPECT_EQ(control_as_knob(three_knobs(), "str_med=0.6"), (KnobSetting{"strength", {0.6}}));
  EXPECT_THAT(control_as_knob(three_knobs(), "is_question=0.6")->values,
              ElementsAre(DoubleEq(0.2), DoubleEq(0.2), DoubleEq(0.6)));
}

TEST(ControlAsKnob, LeavesKnobsAlone) {
  EXPECT_EQ(control_as_knob(three_knobs(), "polarity=0.7"), std::nullopt);
  EXPECT_EQ(control_as_knob(three_knobs(), "nonsense"), std::nullopt);
  const std::vector<Knob> own = {parse_knob("pos_high: probability of polarity")};
  EXPECT_EQ(control_as_knob(own, "pos_high=0.95"), std::nullopt);
}

TEST(ControlAsKnob, RefusesWhatCannotBeAskedFor) {
  EXPECT_THAT(refusal(three_knobs(), "pos_high=2"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal(three_knobs(), "pos_high"), HasSubstr("pos_high=NUMBER"));
  EXPECT_THAT(refusal(three_knobs(), "str_high=0.1"), HasSubstr("from 0.2 to 1"));
  EXPECT_THAT(refusal({}, "pos_high=0.5"), HasSubstr("has no knobs"));
  const std::vector<Knob> marks = {parse_knob("mark: distribution of final_mark over . !")};
  EXPECT_THAT(refusal(marks, "is_question=0.5"), HasSubstr("has no label \"?\""));
}

}  // namespace
}  // namespace semfuse
