// Calibrated knobs: what a model has to be asked for so that its texts turn out as a person asks, as measured.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "semfuse/knobs.h"

namespace semfuse {

// Whoever asks for `asked` gets it by this request with this guidance.
struct CalibrationPoint {
  double asked = 0.0;
  double request = 0.0;
  double guidance = 1.0;
  bool operator==(const CalibrationPoint&) const = default;
};

// A monotone map of one knob: between points it is linear, beyond them it is that of the nearest.
struct KnobCalibration {
  // One list of a probability or scalar, one for each label of a distribution; `asked` ascends, `request` does not
  // fall.
  std::vector<std::vector<CalibrationPoint>> values;
  std::string judge;    // Fingerprint of what said how texts turned out.
  std::uint64_t n = 0;  // Texts that each point was measured on.
  bool operator==(const KnobCalibration&) const = default;
};

// By name of a knob.
using Calibration = std::map<std::string, KnobCalibration>;

// Throws Error, without a place, if the map is none of this knob: values out of range, or not monotone.
void check_calibration(const Knob& knob, const KnobCalibration& calibration);

struct CalibratedRequest {
  std::vector<KnobSetting> settings;
  double guidance = 1.0;  // The largest that one of the settings takes.
};

// What to ask the model for instead of `settings`, which must be valid. Knobs without a map stay as they are. The
// weights of a distribution are mapped one by one and then sum to 1 again.
CalibratedRequest calibrated(std::span<const Knob> knobs, const Calibration& calibration,
                             std::span<const KnobSetting> settings);

}  // namespace semfuse
