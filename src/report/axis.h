// An axis of a plot: what it spans, linearly or by logarithm, and round numbers to label it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace semfuse {

enum class Scale { linear, logarithmic };

class Axis {
 public:
  // Spans the finite ones of `values`, and those of `marks`; `air` is added at both ends as a share of the span. A
  // logarithmic axis leaves out values that have no logarithm; a mark that has none makes it linear.
  Axis(std::span<const double> values, std::span<const double> marks, Scale scale, std::size_t num_ticks, double air);

  // 0 at the low end, 1 at the high end; of a value that has a place.
  double place(double value) const;
  bool has_place(double value) const;

  double low() const { return low_; }
  double high() const { return high_; }
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double low_ = 0.0;
  double high_ = 1.0;
  bool logarithmic_;
  std::vector<double> ticks_;
};

// Round numbers from `low` to `high`, about `count` of them; none unless low < high.
std::vector<double> axis_ticks(double low, double high, std::size_t count);
// The same for a logarithmic axis, low > 0: 1, 2, 5, 10, ...; powers of ten alone where these are too many, and evenly
// spaced numbers where they are too few.
std::vector<double> logarithmic_ticks(double low, double high, std::size_t count);

// A tick as it is written: "0.25", "1e+06".
std::string tick_text(double tick);

}  // namespace semfuse
