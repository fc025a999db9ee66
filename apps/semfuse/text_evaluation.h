// `semfuse evaluate` for models that were trained on files.
#pragma once

#include "study/text_evaluation.h"

namespace semfuse {

// Prints what was measured.
void evaluate_on_texts(const Checkpoint& checkpoint, const Experiment& experiment, const TextEvaluationOptions& options,
                       bool json);

// Shows how preparing files goes on, on standard error; nothing if quiet.
DataProgress show_data_progress(bool quiet);

}  // namespace semfuse
