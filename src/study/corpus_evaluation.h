// What a model of the synthetic corpus is measured by: on sentences of a seed, beside the entropy floor.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "semfuse/checkpoint.h"
#include "study/ngram_comparison.h"
#include "study/run_metrics.h"

namespace semfuse {

struct CorpusEvaluationOptions {
  // "--seed" and "--sentences" of the validation sentences, as written; nothing: the run's.
  std::optional<std::string> seed = {};
  std::optional<std::string> sentences = {};
  std::size_t threads = 0;
  bool against_ngram = false;
  std::function<void(double done)> on_counting = {};  // Told while n-grams are counted.
  std::function<void(double done)> on_progress = {};  // Told while the model reads the texts.
};

// What the synthetic corpus' generator says of its sentences.
struct Floors {
  EntropyFloor here;      // On the sentences that the model is measured on.
  EntropyFloor expected;  // Over all sentences.
  FloorRatio ratio;
};

struct CorpusEvaluation {
  Experiment experiment;  // With the sentences that were drawn.
  Evaluation result;
  Floors floors;
  RunMetrics metrics;
  std::optional<NgramComparison> ngram;  // If it was asked for.
};

// Throws Error as evaluate() does, and for options out of range.
CorpusEvaluation evaluate_corpus(const Checkpoint& checkpoint, const CorpusEvaluationOptions& options);

// As `semfuse evaluate --json` prints it.
Json to_json(const CorpusEvaluation& evaluation);

}  // namespace semfuse
