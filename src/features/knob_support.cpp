#include "features/knob_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace semfuse {

namespace {

constexpr double kSteps = 100.0;    // Values of a range that are told apart.
constexpr double kLeastGap = 0.25;  // Of the range.

}  // namespace

std::vector<double> support_of(const Knob& knob, std::vector<double> values) {
  if (knob.kind != KnobKind::scalar) return {};
  const auto step = [&](double value) { return std::lround(kSteps * (value - knob.low) / (knob.high - knob.low)); };
  std::erase_if(values, [&](double value) { return value < knob.low || value > knob.high; });
  std::ranges::sort(values);
  const auto same = [&](double a, double b) { return step(a) == step(b); };
  values.erase(std::unique(values.begin(), values.end(), same), values.end());
  return values;
}

std::optional<std::string> missing_support(const Knob& knob, const KnobSupport& support, const KnobSetting& setting) {
  const auto found = support.find(knob.name);
  if (knob.kind != KnobKind::scalar || found == support.end()) return std::nullopt;
  const std::vector<double>& values = found->second;
  if (values.empty()) return fmt::format("no training sentence has a {} from {} to {}", knob.name, knob.low, knob.high);
  const double asked = setting.values.at(0);
  const auto after = std::ranges::lower_bound(values, asked);
  const bool is_above = after == values.end();
  const bool is_below = after == values.begin();
  const double low = is_below ? knob.low : *(after - 1);
  const double high = is_above ? knob.high : *after;
  const double nearest = std::min(is_above ? INFINITY : *after - asked, is_below ? INFINITY : asked - *(after - 1));
  const double range = knob.high - knob.low;
  if (high - low < kLeastGap * range || nearest < range / kSteps) return std::nullopt;
  // Labels such as 1 to 5 stars have nothing between them by their nature.
  const auto is_whole = [](double value) { return value == std::round(value); };
  if (high - low <= 1.0 && !is_above && !is_below && std::ranges::all_of(values, is_whole)) return std::nullopt;
  if (is_above) return fmt::format("no training sentence has a {} above {:.4g}", knob.name, low);
  if (is_below) return fmt::format("no training sentence has a {} below {:.4g}", knob.name, high);
  return fmt::format("no training sentence has a {} between {:.4g} and {:.4g}", knob.name, low, high);
}

std::vector<std::string> support_gaps(const Knob& knob, const KnobSupport& support) {
  std::vector<std::string> gaps;
  for (int step = 0; step <= kSteps; ++step) {
    const double value = std::min(knob.low + (knob.high - knob.low) * step / kSteps, knob.high);
    const std::optional<std::string> gap = missing_support(knob, support, {knob.name, {value}});
    if (gap && (gaps.empty() || gaps.back() != *gap)) gaps.push_back(*gap);
  }
  return gaps;
}

}  // namespace semfuse
