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

// What holds of a probability where a label of a distribution is asked for too: questions are seldom positive.
struct CalibrationBeside {
  std::string knob;       // The distribution,
  std::size_t label = 0;  // and the place of the label.
  std::vector<CalibrationPoint> points;
  bool operator==(const CalibrationBeside&) const = default;
};

// A monotone map of one knob: between points it is linear, beyond them it is that of the nearest.
struct KnobCalibration {
  // One list of a probability or scalar, one for each label of a distribution; `asked` ascends, `request` does not
  // fall.
  std::vector<std::vector<CalibrationPoint>> values;
  std::vector<CalibrationBeside> beside = {};
  std::string judge;    // Fingerprint of what said how texts turned out.
  std::uint64_t n = 0;  // Texts that each point was measured on.
  bool operator==(const KnobCalibration&) const = default;
};

// By name of a knob.
using Calibration = std::map<std::string, KnobCalibration>;

// Throws Error, without a place, if the map is none of this knob: values out of range, or not monotone.
void check_calibration(const Knob& knob, const KnobCalibration& calibration);

// The same if the map speaks of labels beside it that these knobs have not.
void check_beside(std::span<const Knob> knobs, const Knob& knob, const KnobCalibration& calibration);

struct CalibratedRequest {
  std::vector<KnobSetting> settings;
  double guidance = 1.0;          // The largest that one of the settings takes,
  std::vector<double> each = {};  // and what each takes.
};

// What to ask the model for instead of `settings`, which must be valid. Knobs without a map stay as they are. The
// weights of a distribution are mapped one by one and then sum to 1 again. Beside a distribution that is set too, a
// probability takes what its map says there, each label as far as its weight.
CalibratedRequest calibrated(std::span<const Knob> knobs, const Calibration& calibration,
                             std::span<const KnobSetting> settings);

}  // namespace semfuse
