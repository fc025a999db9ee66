// What a model makes of requests along a path, as a monotone curve that can be inverted.
#pragma once

#include <cstddef>
#include <vector>

namespace semfuse {

// Weighted isotonic regression (pool adjacent violators): the non-decreasing values nearest to `values` in squares.
std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights);

class ResponseCurve {
 public:
  struct Point {
    double place = 0.0;     // On the path.
    double realised = 0.0;  // The mean of
    double weight = 0.0;    // so many texts.
  };

  // `is_share`: realised values are shares, which are smoothed as log-odds: near 0 and 1 a straight line is no good
  // neighbour. Points may come in any order; at least one.
  ResponseCurve(std::vector<Point> points, bool is_share);

  double lowest() const { return knots_.front().realised; }
  double highest() const { return knots_.back().realised; }
  double at(double place) const;

  // The place where the curve has the value. Of a value that it does not reach, the first place that is within
  // `tolerance` of it, or else that end of the curve.
  double inverse(double value, double tolerance) const;

 private:
  std::vector<Point> knots_;  // Both place and value strictly ascend, unless there is only one.
};

// Of a path that goes on past 0 and `top`: too much of a thing may come to less of it, and what lies beyond the place
// that reaches farthest would spoil what is before it. Drops such points, but for those within `margin` of the
// farthest.
void drop_spoilt_ends(double top, double margin, std::vector<ResponseCurve::Point>& points);

}  // namespace semfuse
