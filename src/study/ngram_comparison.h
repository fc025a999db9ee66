// An n-gram model of the same tokens and texts beside a model.
#pragma once

#include <cstdint>
#include <functional>

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

// Counts n-grams in the training texts and measures them on `texts`; `on_progress` is told how much is counted.
NgramComparison compare_with_ngram(const Dataset& training, const Dataset& texts, std::size_t vocab_size,
                                   bool count_end, const std::function<void(double done)>& on_progress);

Json to_json(const NgramComparison& ngram, const Evaluation& model);

}  // namespace semfuse
