#include "report/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Plot, ThinningTakesMeansAndLeavesGaps) {
  const Series series{.name = "s", .x = {1, 2, 3, 4, 5, 6}, .y = {1, 3, kNaN, 5, kNaN, kInfinity}};
  const Series thin = thinned(series, 3);
  EXPECT_THAT(thin.x, ElementsAre(1.5, 3.5, 5.5));
  EXPECT_EQ(thin.y[0], 2.0);
  EXPECT_EQ(thin.y[1], 5.0);
  EXPECT_TRUE(std::isnan(thin.y[2]));
  EXPECT_EQ(thinned(series, 100).x, series.x);
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

TEST(Plot, AsTextItsLegendIsBrokenAtTheWidth) {
  const Plot plot{.title = "Validation perplexity",
                  .x_label = "step",
                  .series = {{.name = "all words", .x = {1, 2}, .y = {9, 5}},
                             {.name = "seen words only", .x = {1, 2}, .y = {8, 4}}}};
  EXPECT_THAT(to_text(plot, 35, 10), testing::StartsWith("Validation perplexity   * all words\no seen words only\n"));
  EXPECT_THAT(to_text(plot, 34, 10), testing::StartsWith("Validation perplexity\n* all words   o seen words only\n"));
  EXPECT_THAT(to_text(plot, 80, 10), testing::StartsWith("Validation perplexity   * all words   o seen words only\n"));
}

TEST(Plot, AsTextALogarithmShowsWhatALineWouldFlatten) {
  // A loss that begins at 50 and ends at 2: half of the rows are below 10.
  Plot plot{.title = "Loss", .x_label = "step", .series = {{.name = "s", .x = {}, .y = {}}}};
  for (int step = 1; step <= 60; ++step) {
    plot.series[0].x.push_back(step);
    plot.series[0].y.push_back(2.0 + 48.0 * std::exp(-step / 3.0));
  }
  const auto rows_with_marks = [&] {
    std::istringstream stream(to_text(plot, 80, 24));
    std::size_t count = 0;
    for (std::string line; std::getline(stream, line);) count += line.find('*') != line.npos ? 1 : 0;
    return count;
  };
  const std::size_t linear = rows_with_marks();
  plot.y_scale = Scale::logarithmic;
  EXPECT_GT(rows_with_marks(), linear + 2);
  EXPECT_THAT(to_text(plot, 80, 24), HasSubstr("        10 |"));
}

}  // namespace
}  // namespace semfuse
