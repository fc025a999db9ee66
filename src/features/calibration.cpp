#include "semfuse/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "features/knob_index.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr double kMostGuidance = 20.0;

CalibrationPoint mapped(const std::vector<CalibrationPoint>& points, double asked) {
  const auto after = std::ranges::lower_bound(points, asked, {}, &CalibrationPoint::asked);
  if (after == points.begin()) return points.front();
  if (after == points.end()) return points.back();
  const CalibrationPoint& low = *(after - 1);
  const double part = (asked - low.asked) / (after->asked - low.asked);
  return {.asked = asked,
          .request = low.request + part * (after->request - low.request),
          .guidance = low.guidance + part * (after->guidance - low.guidance)};
}

// Moves what a map says to what it says beside the other settings.
void move_beside(const KnobCalibration& map, std::span<const KnobSetting> settings, double asked,
                 CalibrationPoint& point) {
  const CalibrationPoint alone = point;
  for (const CalibrationBeside& beside : map.beside) {
    const auto other = std::ranges::find(settings, beside.knob, &KnobSetting::knob);
    if (other == settings.end() || beside.label >= other->values.size()) continue;
    const CalibrationPoint there = mapped(beside.points, asked);
    point.request += other->values[beside.label] * (there.request - alone.request);
    point.guidance += other->values[beside.label] * (there.guidance - alone.guidance);
  }
  point.guidance = std::clamp(point.guidance, 1.0, kMostGuidance);
}

}  // namespace

void check_calibration(const Knob& knob, const KnobCalibration& calibration) {
  const auto refuse = [&](const char* what) { throw Error(fmt::format("the map of knob {} {}", knob.name, what)); };
  if (calibration.values.size() != knob.num_values()) refuse("has not as many values as the knob");
  const auto check = [&](const std::vector<CalibrationPoint>& points) {
    if (points.empty()) refuse("has no points");
    for (std::size_t i = 0; i < points.size(); ++i) {
      const auto in_range = [&](double value) { return value >= knob.low && value <= knob.high; };  // False for NaN.
      if (!in_range(points[i].asked) || !in_range(points[i].request)) refuse("has a point out of its range");
      if (!(points[i].guidance >= 1.0 && points[i].guidance <= kMostGuidance)) refuse("has no guidance from 1 to 20");
      if (i > 0 && (points[i].asked <= points[i - 1].asked || points[i].request < points[i - 1].request))
        refuse("is not monotone");
    }
  };
  for (const std::vector<CalibrationPoint>& points : calibration.values) check(points);
  for (const CalibrationBeside& beside : calibration.beside) check(beside.points);
  if (knob.kind != KnobKind::probability && !calibration.beside.empty()) refuse("is of no probability beside others");
}

void check_beside(std::span<const Knob> knobs, const Knob& knob, const KnobCalibration& calibration) {
  for (const CalibrationBeside& beside : calibration.beside) {
    const std::size_t index = knob_index(knobs, beside.knob);
    if (index < knobs.size() && knobs[index].kind == KnobKind::distribution &&
        beside.label < knobs[index].labels.size()) {
      continue;
    }
    throw Error(fmt::format("the map of knob {} speaks of a label that the model has not", knob.name));
  }
}

CalibratedRequest calibrated(std::span<const Knob> knobs, const Calibration& calibration,
                             std::span<const KnobSetting> settings) {
  CalibratedRequest result{.settings = {settings.begin(), settings.end()}};
  for (KnobSetting& setting : result.settings) {
    double& guidance = result.each.emplace_back(1.0);
    const auto found = calibration.find(setting.knob);
    if (found == calibration.end()) continue;
    const Knob& knob = knobs[knob_index(knobs, setting.knob)];
    for (std::size_t i = 0; i < setting.values.size(); ++i) {
      CalibrationPoint point = mapped(found->second.values[i], setting.values[i]);
      move_beside(found->second, settings, setting.values[i], point);
      setting.values[i] = std::clamp(point.request, knob.low, knob.high);
      guidance = std::max(guidance, point.guidance);
    }
    if (knob.kind != KnobKind::distribution) continue;
    const double sum = std::accumulate(setting.values.begin(), setting.values.end(), 0.0);
    for (double& value : setting.values) value = sum > 0.0 ? value / sum : 1.0 / static_cast<double>(knob.num_values());
  }
  for (const double each : result.each) result.guidance = std::max(result.guidance, each);
  return result;
}

}  // namespace semfuse
