// What a model that was trained on files is measured by: on its validation texts, or on others.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/table_choice.h"
#include "semfuse/assembly.h"
#include "semfuse/checkpoint.h"
#include "study/ngram_comparison.h"

namespace semfuse {

struct TextEvaluationOptions {
  std::vector<std::string> data;  // Files to measure on; none: the validation texts of the run.
  TableChoice table;              // How they are read, where it is not as the run's were.
  std::size_t threads = 0;
  bool against_ngram = false;
  std::function<void(double done)> on_counting = {};  // Told while n-grams are counted.
  std::function<void(double done)> on_progress = {};  // Told while the model reads the texts.
};

struct TextEvaluation {
  ExperimentData data;
  Evaluation result;
  std::optional<NgramComparison> ngram;       // If it was asked for.
  std::optional<HeldOutEvaluation> held_out;  // Of the run's own texts, if words were held out.
  std::vector<std::string> notes;             // What a person should know.
};

// `experiment` is what trained the model. Throws Error as validation_data() and evaluate() do.
TextEvaluation evaluate_texts(const Checkpoint& checkpoint, Experiment experiment,
                              const TextEvaluationOptions& options);

// As `semfuse evaluate --json` prints it.
Json to_json(const Checkpoint& checkpoint, const TextEvaluation& evaluation);

}  // namespace semfuse
