#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/markup.h"

namespace semfuse {
namespace {

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

constexpr double kSvgNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSvgInfinity = std::numeric_limits<double>::infinity();

// The places of an attribute's numbers, in the order of the shapes.
std::vector<double> numbers_of(const std::string& svg, const std::string& shape, const std::string& attribute) {
  std::vector<double> numbers;
  for (std::size_t at = svg.find(shape); at != svg.npos; at = svg.find(shape, at + 1)) {
    numbers.push_back(std::stod(svg.substr(svg.find(attribute + "=\"", at) + attribute.size() + 2)));
  }
  return numbers;
}

TEST(LinePlot, ShowsSeriesBandAndReference) {
  const std::string svg =
      to_svg(Plot{.title = "Perplexity",
                  .x_label = "epoch",
                  .y_label = "ppl",
                  .y_scale = Scale::logarithmic,
                  .series = {{.name = "ours", .x = {1, 2, 3}, .y = {8, 4, 2}, .low = {7, 3, 1.5}, .high = {9, 5, 2.5}},
                             {.name = "published", .x = {1, 2, 3}, .y = {8.3, 3.3, 2.5}, .dashed = true}},
                  .references = {{"floor", 2.6}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("<polyline", svg), 2U);
  EXPECT_EQ(count_of("<polygon", svg), 1U);
  EXPECT_EQ(count_of("<circle", svg), 6U);
  EXPECT_EQ(count_of("stroke-dasharray=\"6 4\"", svg), 2U);  // The line and its sample in the legend.
  for (const char* text : {">Perplexity<", ">epoch<", ">ppl<", ">ours<", ">published<", ">floor<", ">2<", ">5<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(LinePlot, TheGridDoesNotCrossTheLegend) {
  const std::string svg = to_svg(Plot{.title = "mark",
                                      .x_label = "requested",
                                      .y_label = "realised",
                                      .series = {{.name = "as asked", .x = {0, 1}, .y = {0, 1}, .dashed = true},
                                                 {.name = "a name that is long", .x = {0, 1}, .y = {0, 1}},
                                                 {.name = "another that is long", .x = {0, 1}, .y = {0, 1}},
                                                 {.name = "?", .x = {0, 1}, .y = {1, 0}}}});
  double lowest_name = 0.0;
  for (const char* name : {"as asked", "a name that is long", "another that is long", "?"}) {
    const std::size_t at = svg.find(std::string(">") + name + "<");
    ASSERT_NE(at, svg.npos) << name;
    lowest_name = std::max(lowest_name, std::stod(svg.substr(svg.find("y=\"", svg.rfind("<text", at)) + 3)));
  }
  std::size_t grid_lines = 0;
  for (std::size_t at = svg.find("<line"); at != svg.npos; at = svg.find("<line", at + 1)) {
    if (svg.substr(at, svg.find("/>", at) - at).find("var(--line)") == std::string::npos) continue;
    ++grid_lines;
    EXPECT_GT(std::stod(svg.substr(svg.find("y1=\"", at) + 4)), lowest_name + 4.0);
  }
  EXPECT_GE(grid_lines, 4U);
}

TEST(LinePlot, TextCanBeReadOnAPhone) {
  const std::string svg = to_svg(Plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = {1}, .y = {1}}}});
  const double width = numbers_of(svg, "<svg", "width").at(0);
  const double size = std::stod(svg.substr(svg.find("font: ") + 6));
  EXPECT_GE(size * 350.0 / width, 10.0) << "350 of 390 pixels are the picture";
}

TEST(LinePlot, LeavesOutPointsThatAreNotFinite) {
  const std::string svg = to_svg(Plot{.title = "t",
                                      .x_label = "x",
                                      .y_label = "y",
                                      .series = {{.name = "a",
                                                  .x = {1, 2, NAN, 4, 5},
                                                  .y = {1, NAN, 3, INFINITY, 5},
                                                  .low = {0, NAN, 2, 3, 4},
                                                  .high = {2, 3, 4, INFINITY, 6}}},
                                      .references = {{"gone", NAN}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("<circle", svg), 2U);
  EXPECT_THAT(svg, Not(HasSubstr("gone")));
}

TEST(LinePlot, AGapEndsALine) {
  Plot plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = {1, 2, 3, 4, 5}, .y = {1, 2, kSvgNaN, 2, 1}}}};
  EXPECT_EQ(count_of("<polyline", to_svg(plot)), 2U);
  plot.series[0].y[2] = 1.5;
  EXPECT_EQ(count_of("<polyline", to_svg(plot)), 1U);
}

TEST(LinePlot, ALineGoesFromEndToEnd) {
  const std::string svg =
      to_svg(Plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = {0, 10}, .y = {0, 4}}}});
  const std::vector<double> x = numbers_of(svg, "<circle", "cx"), y = numbers_of(svg, "<circle", "cy");
  const double left = numbers_of(svg, "<line", "x1").at(0), right = numbers_of(svg, "<line", "x2").at(0);
  EXPECT_EQ(x, (std::vector<double>{left, right}));
  EXPECT_GT(y.at(0), y.at(1)) << "up is more";
}

TEST(LinePlot, ALogarithmHasNoPlaceForZero) {
  Plot plot{.title = "t",
            .x_label = "x",
            .y_scale = Scale::logarithmic,
            .series = {{.name = "a", .x = {1, 2, 3}, .y = {0, 10, 100}}}};
  expect_sound(to_svg(plot));
  EXPECT_EQ(count_of("<circle", to_svg(plot)), 2U);
  // A reference that has no logarithm turns it off.
  plot.references = {{"zero", 0.0}};
  expect_sound(to_svg(plot));
  EXPECT_EQ(count_of("<circle", to_svg(plot)), 3U);
}

TEST(LinePlot, AnythingMayBeEmpty) {
  expect_sound(to_svg(std::span<const Plot>()));
  expect_sound(to_svg(Plot{}));
  const auto with = [](std::vector<double> x, std::vector<double> y) {
    return Plot{.title = "", .x_label = "", .series = {{.name = "", .x = x, .y = y, .low = y, .high = y}}};
  };
  for (const Plot& plot : {with({}, {}), with({1}, {NAN}), with({1}, {2}), with({1, 2}, {0, 0})}) {
    expect_sound(to_svg(plot));
    Plot logarithmic = plot;
    logarithmic.y_scale = Scale::logarithmic;
    expect_sound(to_svg(logarithmic));
  }
}

TEST(LinePlot, NeverWritesANumberThatIsNone) {
  for (const std::vector<double>& y : std::vector<std::vector<double>>{
           {}, {kSvgNaN}, {3.0}, {0.0, 0.0}, {1e308, -1e308}, {kSvgInfinity, 1}, {1e-320, 0}, {1e-320, 1e308}}) {
    std::vector<double> x;
    for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i));
    for (const Scale scale : {Scale::linear, Scale::logarithmic}) {
      const Plot plot{.title = "t", .x_label = "x", .y_scale = scale, .series = {{.name = "s", .x = x, .y = y}}};
      const std::string svg = to_svg(plot), text = to_text(plot, 60, 12);
      for (const std::string& drawn : {svg, text}) {
        EXPECT_THAT(drawn, Not(HasSubstr("nan"))) << testing::PrintToString(y);
        EXPECT_THAT(drawn, Not(testing::ContainsRegex("[^a-z]inf"))) << testing::PrintToString(y);
      }
      EXPECT_LT(svg.size(), 100000U);
    }
  }
}

TEST(LinePlot, SeveralStandBelowEachOther) {
  const std::vector<Plot> plots(3, {.title = "t", .x_label = "x", .series = {{.name = "s", .x = {1}, .y = {1}}}});
  const std::string one = to_svg(plots.front()), three = to_svg(plots);
  EXPECT_EQ(numbers_of(three, "<svg", "height").at(0), 3.0 * numbers_of(one, "<svg", "height").at(0));
  EXPECT_EQ(count_of("class=\"title\"", three), 3U);
}

TEST(LinePlot, EscapesText) {
  const std::string nasty = "<b>&\"'</svg>\x01";
  const std::string svg = to_svg(Plot{.title = nasty,
                                      .x_label = nasty,
                                      .y_label = nasty,
                                      .series = {{.name = nasty, .x = {1, 2}, .y = {1, 2}}},
                                      .references = {{nasty, 1.5}}});
  expect_sound(svg);
  EXPECT_THAT(svg, Not(HasSubstr("<b>")));
  EXPECT_THAT(svg, Not(HasSubstr("\x01")));
  EXPECT_EQ(count_of("&lt;b&gt;&amp;&quot;", svg), 6U);  // The title is the picture's name too.
}

TEST(IntervalPlot, ShowsMeanIntervalValuesAndReference) {
  IntervalPlot plot{.title = "Difference",
                    .label = "left is better",
                    .rows = {{.name = "perplexity",
                              .mean = -0.1,
                              .low = -0.2,
                              .high = 0.0,
                              .values = {-0.05, -0.15},
                              .reference = -0.097},
                             {.name = "seen-only", .mean = 0.1, .low = 0.05, .high = 0.15}},
                    .references = {{"0", 0.0}}};
  const std::string svg = to_svg(plot);
  expect_sound(svg);
  EXPECT_EQ(count_of("r=\"5\"", svg), 2U);
  EXPECT_EQ(count_of("opacity=\"0.35\"", svg), 2U);
  EXPECT_EQ(count_of("stroke-width=\"3\"", svg), 2U);
  EXPECT_EQ(count_of("<path", svg), 1U);
  for (const char* text : {">perplexity<", ">seen-only<", ">Difference<", ">left is better<"})
    EXPECT_THAT(svg, HasSubstr(text));
  EXPECT_THAT(svg, Not(HasSubstr(">-0.100<")));
  plot.show_means = true;
  // In a column of their own, where neither names nor intervals are.
  const std::string with_means = to_svg(plot);
  const std::size_t mean = with_means.rfind("<text", with_means.find(">-0.100<"));
  ASSERT_NE(mean, with_means.npos);
  const double right = std::stod(with_means.substr(with_means.find("x=\"", mean) + 3));
  for (const double x : numbers_of(with_means, "<circle", "cx")) EXPECT_LT(x, right - 60.0);
}

TEST(IntervalPlot, LeavesOutWhatIsNotFinite) {
  const std::string svg =
      to_svg(IntervalPlot{.title = "t",
                          .label = "x",
                          .rows = {{.name = "one seed", .mean = 1.0, .low = NAN, .high = NAN, .values = {1.0, NAN}},
                                   {.name = "none <&>", .mean = NAN, .low = NAN, .high = NAN, .reference = NAN}},
                          .references = {{"gone", NAN}}});
  expect_sound(svg);
  EXPECT_EQ(count_of("r=\"5\"", svg), 1U);
  EXPECT_EQ(count_of("opacity=\"0.35\"", svg), 1U);
  EXPECT_EQ(count_of("stroke-width=\"3\"", svg), 0U);
  EXPECT_EQ(count_of("<path", svg), 0U);
  EXPECT_THAT(svg, HasSubstr("none &lt;&amp;&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("gone")));
  expect_sound(to_svg(IntervalPlot{.title = "t", .label = "x"}));
}

}  // namespace
}  // namespace semfuse
