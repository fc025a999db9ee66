// `semfuse evaluate` for models that were trained on files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "table_options.h"

namespace semfuse {

struct TextEvaluationOptions {
  std::vector<std::string> data;  // Files to measure on; none: the validation texts of the run.
  TableFlags table;               // How they are read, where it is not as the run's were.
  std::size_t threads = 0;
  bool against_ngram = false;
  bool json = false;
};

// Prints what was measured.
void evaluate_on_texts(const Checkpoint& checkpoint, Experiment experiment, const TextEvaluationOptions& options);

// Shows how preparing files goes on, on standard error; nothing if quiet.
DataProgress show_data_progress(bool quiet);

}  // namespace semfuse
