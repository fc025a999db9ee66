// Calibrates the knobs of a finished run that are labels of columns, with judges that it trains and keeps in the run's
// folder.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "evaluation/knob_calibration.h"
#include "semfuse/training_run.h"

namespace semfuse {

struct LabelCalibrationOptions {
  std::size_t threads = 0;  // 0: one for each processor. The result is the same for any number.
  // Told how much of a knob is done, from 0 to 1; false stops it. May be empty, as the others.
  std::function<bool(const Knob& knob, double done)> go_on = {};
  // Leaves knobs alone that have a map: of a run that was stopped before it had calibrated all of them.
  bool only_missing = false;
  // Told what came of a knob; its map is then in the run's model.
  std::function<void(const Knob& knob, const CalibrationResult& result)> on_result = {};
  // Told why a knob is not calibrated, and what to do: failing is no failure of the training.
  std::function<void(const std::string& note)> on_note = {};
};

// Whether a knob of a label has no map, though the run kept texts for its judge (data.judge_share). Of a finished run.
bool lacks_calibration(const TrainingRun& run);

// Nothing if the run kept no texts for judges. False if go_on said so.
bool calibrate_labels(const TrainingRun& run, const LabelCalibrationOptions& options);

}  // namespace semfuse
