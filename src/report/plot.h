// Line plots: as an SVG file, and as text for a terminal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace semfuse {

// Points in the order of x. A y that is not finite is a gap.
struct Series {
  std::string name;
  std::vector<double> x;
  std::vector<double> y;  // As many as x.
};

struct Plot {
  std::string title;
  std::string x_label;
  std::vector<Series> series;
};

// The same curve with at most `most` points: neighbours are replaced by their mean, those that are not finite left out.
Series thinned(const Series& series, std::size_t most);

// Plots below each other as one picture. Text in the plots may be anything.
std::string to_svg(std::span<const Plot> plots);

// `width` and `height` in characters, title and labels included; at least 30 and 6. Plain ASCII besides the title.
std::string to_text(const Plot& plot, std::size_t width, std::size_t height);

}  // namespace semfuse
