#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string svg_of(const Plot& plot) {
  return to_svg(std::span(&plot, 1));
}

TEST(Plot, ThinningTakesMeansAndLeavesGaps) {
  const Series series{.name = "s", .x = {1, 2, 3, 4, 5, 6}, .y = {1, 3, kNaN, 5, kNaN, kInfinity}};
  const Series thin = thinned(series, 3);
  EXPECT_THAT(thin.x, ElementsAre(1.5, 3.5, 5.5));
  EXPECT_EQ(thin.y[0], 2.0);
  EXPECT_EQ(thin.y[1], 5.0);
  EXPECT_TRUE(std::isnan(thin.y[2]));
  EXPECT_EQ(thinned(series, 100).x, series.x);
}

TEST(Plot, ACurveTouchesTheFrameAtItsEnds) {
  const Plot plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = {0, 10}, .y = {0, 4}}}};
  EXPECT_THAT(svg_of(plot), HasSubstr("points=\"70,244 700,34\""));
}

TEST(Plot, AGapEndsALine) {
  Plot plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = {1, 2, 3, 4, 5}, .y = {1, 2, kNaN, 2, 1}}}};
  EXPECT_EQ(count_of(svg_of(plot), "<polyline"), 2U);
  plot.series[0].y[2] = 1.5;
  EXPECT_EQ(count_of(svg_of(plot), "<polyline"), 1U);
}

TEST(Plot, NeverWritesANumberThatIsNone) {
  for (const std::vector<double>& y :
       std::vector<std::vector<double>>{{}, {kNaN}, {3.0}, {0.0, 0.0}, {1e300, -1e300}, {kInfinity, 1}, {1e-320, 0}}) {
    std::vector<double> x;
    for (std::size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i));
    const Plot plot{.title = "t", .x_label = "x", .series = {{.name = "s", .x = x, .y = y}}};
    const std::string svg = svg_of(plot), text = to_text(plot, 60, 12);
    for (const std::string& drawn : {svg, text}) {
      EXPECT_THAT(drawn, Not(HasSubstr("nan"))) << testing::PrintToString(y);
      EXPECT_THAT(drawn, Not(testing::ContainsRegex("[^a-z]inf"))) << testing::PrintToString(y);
    }
    EXPECT_LT(svg.size(), 100000U);
  }
}

TEST(Plot, TextFromOutsideIsEscaped) {
  const Plot plot{.title = "<b>&\x01", .x_label = "a<b", .series = {{.name = "1>", .x = {1}, .y = {1}}, {.name = "2"}}};
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;&amp; </text>"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("1&gt;"));
}

TEST(Plot, SeveralStandBelowEachOther) {
  const std::vector<Plot> plots(3, {.title = "t", .x_label = "x", .series = {{.name = "s", .x = {1}, .y = {1}}}});
  EXPECT_THAT(to_svg(plots), HasSubstr("height=\"900\""));
  EXPECT_EQ(count_of(to_svg(plots), "class=\"title\""), 3U);
}

TEST(Plot, AsTextItFitsItsSize) {
  const Plot plot{.title = "Loss", .x_label = "step", .series = {{.name = "s", .x = {1, 2, 3}, .y = {9, 5, 1}}}};
  for (const std::size_t width : {30, 47, 80}) {
    for (const std::size_t height : {6, 10, 24}) {
      std::istringstream stream(to_text(plot, width, height));
      std::vector<std::string> lines;
      for (std::string line; std::getline(stream, line);) lines.push_back(line);
      EXPECT_EQ(lines.size(), height);
      for (const std::string& line : lines) EXPECT_LE(line.size(), width);
      EXPECT_EQ(lines[1][12], '*') << "the highest is first";
      EXPECT_EQ(lines[height - 4].back(), '*') << "the lowest is last";
      EXPECT_EQ(lines[height - 4].size(), width);
    }
  }
}

}  // namespace
}  // namespace semfuse
