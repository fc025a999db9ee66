#include "report/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/markup.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

void expect_sound(const std::string& svg) {
  EXPECT_EQ(markup_fault(svg), "");
  EXPECT_THAT(svg, testing::StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

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

TEST(LinePlot, ShowsSeriesBandAndReference) {
  const std::string svg = line_plot(
      {{.name = "ours", .x = {1, 2, 3}, .y = {8, 4, 2}, .low = {7, 3, 1.5}, .high = {9, 5, 2.5}},
       {.name = "published", .x = {1, 2, 3}, .y = {8.3, 3.3, 2.5}, .low = {}, .high = {}, .dashed = true}},
      {.title = "Perplexity", .x_label = "epoch", .y_label = "ppl", .log_y = true, .references = {{"floor", 2.6}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("<polyline", svg), 2U);
  EXPECT_EQ(count_of("<polygon", svg), 1U);
  EXPECT_EQ(count_of("<circle", svg), 6U);
  EXPECT_EQ(count_of("stroke-dasharray=\"6 4\"", svg), 2U);  // The line and its sample in the legend.
  for (const char* text : {">Perplexity<", ">epoch<", ">ppl<", ">ours<", ">published<", ">floor<", ">2<", ">5<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(LinePlot, LeavesOutPointsThatAreNotFinite) {
  const std::string svg = line_plot({{.name = "a",
                                      .x = {1, 2, NAN, 4, 5},
                                      .y = {1, NAN, 3, INFINITY, 5},
                                      .low = {0, NAN, 2, 3, 4},
                                      .high = {2, 3, 4, INFINITY, 6}}},
                                    {.title = "t", .x_label = "x", .y_label = "y", .references = {{"gone", NAN}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("<circle", svg), 2U);
  EXPECT_THAT(svg, Not(HasSubstr("gone")));
}

TEST(LinePlot, ALogarithmHasNoPlaceForZero) {
  const std::string svg = line_plot({{.name = "a", .x = {1, 2, 3}, .y = {0, 10, 100}, .low = {}, .high = {}}},
                                    {.title = "t", .x_label = "x", .y_label = "y", .log_y = true});
  expect_sound(svg);
  EXPECT_EQ(count_of("<circle", svg), 2U);
  // A reference that has no logarithm turns it off.
  const std::string linear =
      line_plot({{.name = "a", .x = {1, 2, 3}, .y = {0, 10, 100}, .low = {}, .high = {}}},
                {.title = "t", .x_label = "x", .y_label = "y", .log_y = true, .references = {{"zero", 0.0}}});
  expect_sound(linear);
  EXPECT_EQ(count_of("<circle", linear), 3U);
}

TEST(LinePlot, AnythingMayBeEmpty) {
  const PlotOptions options{.title = "", .x_label = "", .y_label = ""};
  expect_sound(line_plot({}, options));
  expect_sound(line_plot({{.name = "", .x = {}, .y = {}, .low = {}, .high = {}}}, options));
  expect_sound(line_plot({{.name = "", .x = {1}, .y = {NAN}, .low = {}, .high = {}}}, options));
  expect_sound(line_plot({{.name = "one", .x = {1}, .y = {2}, .low = {2}, .high = {2}}}, options));
  expect_sound(line_plot({{.name = "flat", .x = {1, 2}, .y = {0, 0}, .low = {}, .high = {}}}, options));
}

TEST(LinePlot, EscapesText) {
  const std::string nasty = "<b>&\"'</svg>";
  const std::string svg = line_plot({{.name = nasty, .x = {1, 2}, .y = {1, 2}, .low = {}, .high = {}}},
                                    {.title = nasty, .x_label = nasty, .y_label = nasty, .references = {{nasty, 1.5}}});
  expect_sound(svg);
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_EQ(count_of("&lt;b&gt;&amp;&quot;", svg), 6U);  // The title is the picture's name too.
}

TEST(IntervalPlot, ShowsMeanIntervalValuesAndReference) {
  const std::string svg = interval_plot(
      {{.name = "perplexity", .mean = -0.1, .low = -0.2, .high = 0.0, .values = {-0.05, -0.15}, .reference = -0.097},
       {.name = "seen-only", .mean = 0.1, .low = 0.05, .high = 0.15, .values = {}}},
      {.title = "Difference", .x_label = "left is better", .y_label = "", .references = {{"0", 0.0}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("r=\"5\"", svg), 2U);
  EXPECT_EQ(count_of("opacity=\"0.35\"", svg), 2U);
  EXPECT_EQ(count_of("stroke-width=\"3\"", svg), 2U);
  EXPECT_EQ(count_of("<path", svg), 1U);
  for (const char* text : {">perplexity<", ">seen-only<", ">Difference<", ">left is better<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(IntervalPlot, LeavesOutWhatIsNotFinite) {
  const std::string svg =
      interval_plot({{.name = "one seed", .mean = 1.0, .low = NAN, .high = NAN, .values = {1.0, NAN}},
                     {.name = "none <&>", .mean = NAN, .low = NAN, .high = NAN, .values = {}, .reference = NAN}},
                    {.title = "t", .x_label = "x", .y_label = "", .references = {{"gone", NAN}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("r=\"5\"", svg), 1U);
  EXPECT_EQ(count_of("opacity=\"0.35\"", svg), 1U);
  EXPECT_EQ(count_of("stroke-width=\"3\"", svg), 0U);
  EXPECT_EQ(count_of("<path", svg), 0U);
  EXPECT_THAT(svg, HasSubstr("none &lt;&amp;&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("gone")));
  expect_sound(interval_plot({}, {.title = "t", .x_label = "x", .y_label = ""}));
}

}  // namespace
}  // namespace semfuse
