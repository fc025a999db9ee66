// Means with their 95 % intervals, and whether two samples differ.
#pragma once

#include <span>

namespace semfuse {

// A mean over seeds and its 95 % interval by Student's t; one value has no interval, and low and high are NaN. Without
// values all are NaN.
struct Estimate {
  double mean;
  double low;
  double high;
};
Estimate estimate(std::span<const double> values);

// The interval of the mean difference of paired values, second - first.
Estimate paired_difference(std::span<const double> first, std::span<const double> second);

// The interval of the difference of two independent means, second - first, whose variances may differ (Welch). They
// differ at 95 % if it leaves 0 out.
Estimate welch_difference(std::span<const double> first, std::span<const double> second);

// The 97.5 % point of Student's t with so many degrees of freedom, at least 1.
double student_t(double freedom);

}  // namespace semfuse
