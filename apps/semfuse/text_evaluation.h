// `semfuse evaluate` for models that were trained on files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

struct TextEvaluationOptions {
  std::vector<std::string> data;  // Files to measure on; none: the validation texts of the run.
  bool skip_bad = false;          // Rows of `data` at fault are left out.
  std::size_t threads = 0;
  bool against_ngram = false;
  bool json = false;
};

// Prints what was measured.
void evaluate_on_texts(const Checkpoint& checkpoint, Experiment experiment, const TextEvaluationOptions& options);

// Shows how preparing files goes on, on standard error; nothing if quiet.
DataProgress show_data_progress(bool quiet);

}  // namespace semfuse
