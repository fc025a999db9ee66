#include "evaluation/response_curve.h"

#include <algorithm>
#include <cmath>

namespace semfuse {
namespace {

// In steps of the path: what is nearer than this counts for a point too. Wider would smooth away what is so: of each
// step of a request a model knows by itself what it means.
constexpr double kBandwidth = 0.8;

struct Block {
  double sum = 0.0;  // Of weighted values.
  double weight = 0.0;
  std::size_t count = 0;
  double mean() const { return sum / weight; }
};

std::vector<Block> pooled(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    blocks.push_back({.sum = values[i] * weights[i], .weight = weights[i], .count = 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() >= blocks.back().mean()) {
      Block& before = blocks[blocks.size() - 2];
      before.sum += blocks.back().sum;
      before.weight += blocks.back().weight;
      before.count += blocks.back().count;
      blocks.pop_back();
    }
  }
  return blocks;
}

double to_log_odds(const ResponseCurve::Point& point) {
  // Half a text on each side keeps 0 and 1 finite.
  const double positive = point.realised * point.weight + 0.5;
  return std::log(positive / (point.weight + 1.0 - positive));
}

// A straight line through the neighbours, by tricube weights, at the point's own place.
double smoothed(const std::vector<ResponseCurve::Point>& points, const std::vector<double>& values, double place) {
  double w = 0.0, wx = 0.0, wy = 0.0, wxx = 0.0, wxy = 0.0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = points[i].place - place;
    const double distance = std::abs(x) / kBandwidth;
    if (distance >= 1.0) continue;
    const double weight = points[i].weight * std::pow(1.0 - distance * distance * distance, 3.0);
    w += weight;
    wx += weight * x;
    wy += weight * values[i];
    wxx += weight * x * x;
    wxy += weight * x * values[i];
  }
  const double determinant = w * wxx - wx * wx;
  return determinant > 1e-9 * w * w ? (wxx * wy - wx * wxy) / determinant : wy / w;
}

}  // namespace

std::vector<double> isotonic(const std::vector<double>& values, const std::vector<double>& weights) {
  std::vector<double> result;
  for (const Block& block : pooled(values, weights)) result.insert(result.end(), block.count, block.mean());
  return result;
}

void drop_spoilt_ends(double top, double margin, std::vector<ResponseCurve::Point>& points) {
  const auto [least, most] = std::ranges::minmax_element(points, {}, &ResponseCurve::Point::realised);
  double first = 0.0, last = top;
  for (const ResponseCurve::Point& point : points) {
    if (point.realised <= least->realised + margin) first = std::min(first, point.place);
    if (point.realised >= most->realised - margin) last = std::max(last, point.place);
  }
  std::erase_if(points, [&](const ResponseCurve::Point& point) { return point.place < first || point.place > last; });
}

ResponseCurve::ResponseCurve(std::vector<Point> points, bool is_share) {
  std::ranges::sort(points, {}, &Point::place);
  std::vector<double> values, weights;
  for (const Point& point : points) values.push_back(is_share ? to_log_odds(point) : point.realised);
  std::vector<double> fitted;
  for (const Point& point : points) {
    const double value = smoothed(points, values, point.place);
    fitted.push_back(is_share ? 1.0 / (1.0 + std::exp(-value)) : value);
    weights.push_back(point.weight);
  }
  // A block of equal values is one knot, in its middle: flat pieces could not be inverted.
  std::size_t first = 0;
  for (const Block& block : pooled(fitted, weights)) {
    Point knot{.place = 0.0, .realised = block.mean(), .weight = block.weight};
    for (std::size_t i = first; i < first + block.count; ++i) knot.place += points[i].place * weights[i] / block.weight;
    first += block.count;
    knots_.push_back(knot);
  }
}

double ResponseCurve::at(double place) const {
  const auto after = std::ranges::lower_bound(knots_, place, {}, &Point::place);
  if (after == knots_.begin()) return lowest();
  if (after == knots_.end()) return highest();
  const Point& low = *(after - 1);
  return low.realised + (place - low.place) / (after->place - low.place) * (after->realised - low.realised);
}

double ResponseCurve::inverse(double value, double tolerance) const {
  if (value < lowest()) value += tolerance;
  if (value > highest()) value -= tolerance;
  value = std::clamp(value, lowest(), highest());
  const auto after = std::ranges::lower_bound(knots_, value, {}, &Point::realised);
  if (after == knots_.begin()) return knots_.front().place;
  if (after == knots_.end()) return knots_.back().place;
  const Point& low = *(after - 1);
  return low.place + (value - low.realised) / (after->realised - low.realised) * (after->place - low.place);
}

}  // namespace semfuse
