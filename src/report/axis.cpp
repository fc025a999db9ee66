#include "report/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace semfuse {
namespace {

// Far enough from the ends of doubles for sums, differences and room around them.
constexpr double kLargest = 1e250;
constexpr double kSmallest = 1e-250;

bool has_logarithm(double value) {
  return value > 0.0;
}

}  // namespace

Axis::Axis(std::span<const double> values, std::span<const double> marks, Scale scale, std::size_t num_ticks,
           double air)
    : logarithmic_(scale == Scale::logarithmic) {
  const auto is_shown = [&](double value) { return std::isfinite(value) && (!logarithmic_ || has_logarithm(value)); };
  logarithmic_ = logarithmic_ && std::ranges::any_of(values, is_shown) &&
                 std::ranges::all_of(marks, [](double mark) { return !std::isfinite(mark) || has_logarithm(mark); });
  double low = INFINITY, high = -INFINITY;
  for (const std::span<const double> some : {values, marks}) {
    for (const double value : some) {
      if (!is_shown(value)) continue;
      low = std::min(low, std::clamp(value, -kLargest, kLargest));
      high = std::max(high, std::clamp(value, -kLargest, kLargest));
    }
  }
  if (low > high) low = 0.0, high = 1.0;
  // Room around a flat line, as much as its numbers need to differ at all.
  const double least_span = std::max(std::max(std::abs(low), std::abs(high)) * 1e-6, kSmallest);
  const bool flat = high - low < least_span;
  if (logarithmic_) {
    low = std::max(low, kSmallest), high = std::max(high, kSmallest);
    const double room = flat ? 1.1 : std::exp(air * (std::log(high) - std::log(low)));
    low_ = low / room, high_ = high * room;
    ticks_ = logarithmic_ticks(low_, high_, num_ticks);
    return;
  }
  const double flat_room = std::abs(high) > kSmallest ? std::abs(high) * 0.1 : 0.5;
  const double room = flat ? flat_room : air * (high - low);
  low_ = low - room, high_ = high + room;
  ticks_ = axis_ticks(low_, high_, num_ticks);
}

double Axis::place(double value) const {
  if (!logarithmic_) return (std::clamp(value, -kLargest, kLargest) - low_) / (high_ - low_);
  const double shown = std::clamp(value, kSmallest, kLargest);
  return (std::log(shown) - std::log(low_)) / (std::log(high_) - std::log(low_));
}

bool Axis::has_place(double value) const {
  return std::isfinite(value) && (!logarithmic_ || has_logarithm(value));
}

std::vector<double> axis_ticks(double low, double high, std::size_t count) {
  const double rough = (high - low) / static_cast<double>(std::max<std::size_t>(count, 1));
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10.0 * power;
  for (const double digit : {5.0, 2.5, 2.0, 1.0}) {
    if (digit * power >= rough) step = digit * power;
  }
  std::vector<double> ticks;
  double index = std::ceil(low / step - 1e-9);
  while (index * step <= high + 1e-9 * step) {
    ticks.push_back(index * step + 0.0);
    index += 1.0;
  }
  return ticks;
}

std::vector<double> logarithmic_ticks(double low, double high, std::size_t count) {
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  std::vector<double> ticks;
  const auto add = [&](double tick) {
    if (tick >= low && tick <= high) ticks.push_back(tick);
  };
  const double stride = std::ceil((last - first) / static_cast<double>(std::max<std::size_t>(count, 1)));
  const bool decades_only = 3.0 * (last - first) > static_cast<double>(2 * count);
  double exponent = first;
  while (exponent <= last) {
    const double decade = std::pow(10.0, exponent);
    add(decade);
    if (!decades_only) add(2.0 * decade);
    if (!decades_only) add(5.0 * decade);
    exponent += std::max(stride, 1.0);
  }
  return ticks.size() < 2 ? axis_ticks(low, high, count) : ticks;
}

std::string tick_text(double tick) {
  return fmt::format("{:.6g}", tick);
}

}  // namespace semfuse
