// What `calibrate` and the end of `train` share: they calibrate knobs of a model's file and say what came of it.
#pragma once

#include <cstddef>

#include "evaluation/knob_calibration.h"
#include "semfuse/training_run.h"
#include "terminal.h"

namespace semfuse {

// Asked, raw and calibrated, with the errors of both.
std::string calibration_table(const Terminal& terminal, const Knob& knob, const CalibrationResult& result);

// Calibrates the knobs of labels of a run that is finished, with judges that it trains and keeps in the run's folder.
// Failing is no failure of the training: it is said, and what to do. False if a signal stopped it.
bool calibrate_labels(const TrainingRun& run, bool only_missing, bool quiet, std::size_t threads, bool to_stderr);

}  // namespace semfuse
