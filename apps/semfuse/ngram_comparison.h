// `semfuse evaluate --against ngram`: an n-gram model of the same tokens and texts beside the model.
#pragma once

#include <optional>
#include <string>

#include "evaluation/ngram_model.h"
#include "io/json_writer.h"
#include "semfuse/evaluation.h"

namespace semfuse {

struct NgramComparison {
  NgramEvaluation measured;
  std::size_t order = 0;
  std::uint64_t tokens = 0;  // That were counted.
  std::uint64_t stride = 1;  // Every text was counted if 1, every second if 2.
};

// Whether --against asks for it. Throws Error if it asks for something else.
bool wants_ngram(const std::optional<std::string>& against);

// Counts n-grams in the training texts, measures them on `texts`, and shows on standard error how that goes on.
NgramComparison compare_with_ngram(const Dataset& training, const Dataset& texts, std::size_t vocab_size,
                                   bool count_end);

Json to_json(const NgramComparison& ngram, const Evaluation& model);
// What was counted, and which of the two is better.
std::string to_text(const NgramComparison& ngram, const Evaluation& model);

}  // namespace semfuse
