#include "report/knob_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/markup.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Labels come from people's files.
TEST(KnobReport, LabelsNeverBecomeMarkup) {
  const std::string script = "<script>alert(1)</script>", link = "[a](javascript:b)|&lt;";
  const Knob knob{.name = "mark",
                  .kind = KnobKind::distribution,
                  .source = "final_mark",
                  .labels = {script, link, "\x1b]0;x\x07\xE2\x80\xAE\"onload=\"x"}};
  const Realised realised{.values = {0.2, 0.5, 0.3}, .half_widths = {0.1, 0.1, 0.1}};
  KnobSweep sweep{.knobs = {"mark"}, .gaps = {script + link}};
  for (int i = 0; i < 3; ++i) {
    std::vector<double> weights(3);
    weights[static_cast<std::size_t>(i)] = 1.0;
    sweep.levels.push_back({.requested = {{"mark", weights}}, .realised = {realised}});
  }
  const SweepResult result{.unstated = {realised}, .sweeps = {sweep}};
  const std::string plot = sweep_plot(knob, 0, sweep), page = sweep_page({knob}, {}, result),
                    table = sweep_table({knob}, result), json = sweep_json({knob}, {}, result);
  EXPECT_EQ(markup_fault(plot), "");
  for (const std::string& text : {plot, page, table}) {
    EXPECT_THAT(text, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("\"onload")), HasSubstr("&lt;script&gt;")));
  }
  EXPECT_THAT(table, AllOf(HasSubstr("\\[a\\](javascript:b)\\|&amp;lt;"), Not(HasSubstr("&lt;script&gt;|"))));
  for (const std::string& text : {plot, page, table, json}) {
    EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos);
  }
  for (const std::string& text : {plot, page, table}) EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
}

TEST(KnobReport, NothingIsTheSameMeasuredAndReadAgain) {
  const Knob knob{.name = "polarity", .kind = KnobKind::probability, .source = "lexicon"};
  const auto table = [&](double nothing) {
    const Realised realised{.values = {nothing}, .half_widths = {nothing}};
    const KnobSweep sweep{.knobs = {"polarity"},
                          .levels = {{.requested = {{"polarity", {0.5}}}, .realised = {realised}}}};
    return sweep_table({knob}, {.unstated = {realised}, .sweeps = {sweep}});
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(table(-nan), table(nan));
}

}  // namespace
}  // namespace semfuse
