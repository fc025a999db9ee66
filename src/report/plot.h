// Plots: as SVG that a page includes or a browser opens alone, and as text for a terminal. Text in them may be
// anything.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/axis.h"

namespace semfuse {

// Points in the order in which a line joins them; as text, of x. What is not finite is a gap.
struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;          // As many as x.
  std::vector<double> low = {};   // Of a band around the line, as many as x; empty for none.
  std::vector<double> high = {};  // Likewise.
  bool dashed = false;
};

// A line across the plot at one value.
struct Reference {
  std::string name;
  double at = 0.0;
};

// Lines over x.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label = {};
  Scale y_scale = Scale::linear;
  std::vector<Series> series = {};
  std::vector<Reference> references = {};
};

// One row of an interval plot: a mean, its interval, single values, and a number to compare with.
struct IntervalRow {
  std::string name;
  double mean = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::vector<double> values = {};
  std::optional<double> reference = std::nullopt;
};

// Rows below each other over a common axis.
struct IntervalPlot {
  std::string title;
  std::string label;
  Scale scale = Scale::linear;
  bool show_means = false;  // As numbers in a column at the right.
  std::vector<IntervalRow> rows = {};
  std::vector<Reference> references = {};
};

// The same line with at most `most` points and no band: neighbours are replaced by their mean, those that are not
// finite left out.
Series thinned(const Series& series, std::size_t most);

// Plots below each other as one picture; light and dark by the reader's preference. Narrow, so that its text can be
// read on a phone.
std::string to_svg(std::span<const Plot> plots);
std::string to_svg(std::span<const IntervalPlot> plots);
inline std::string to_svg(const Plot& plot) {
  return to_svg(std::span(&plot, 1));
}
inline std::string to_svg(const IntervalPlot& plot) {
  return to_svg(std::span(&plot, 1));
}

// `width` and `height` in characters, title and labels included; at least 30 and 6. Plain ASCII besides the title;
// lines only, without bands and references.
std::string to_text(const Plot& plot, std::size_t width, std::size_t height);

}  // namespace semfuse
