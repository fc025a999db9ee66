// Plots as SVG text that a page includes or a browser opens alone; light and dark by the reader's preference.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace semfuse {

struct PlotSeries {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;  // Of a band around the line; empty for none.
  std::vector<double> high;
  bool dashed = false;
};

// A line across the plot at one height.
struct PlotReference {
  std::string name;
  double y = 0.0;
};

struct PlotOptions {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_y = false;
  std::vector<PlotReference> references = {};
};

// Lines over x. Points that are not finite are left out.
std::string line_plot(const std::vector<PlotSeries>& series, const PlotOptions& options);

// One row of an interval plot: a mean, its interval, single values, and a number to compare with.
struct IntervalRow {
  std::string name;
  double mean = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::vector<double> values = {};
  std::optional<double> reference = std::nullopt;
};

// Rows below each other over a common axis. `options.y_label` is unused; the references are vertical lines.
std::string interval_plot(const std::vector<IntervalRow>& rows, const PlotOptions& options);

// Round numbers from `low` to `high`, about `count` of them; none unless low < high.
std::vector<double> axis_ticks(double low, double high, std::size_t count);

}  // namespace semfuse
