// Measures a language model on sentences.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "semfuse/language_model.h"

namespace semfuse {

struct EvaluationOptions {
  std::vector<std::string> held_out;  // Words whose positions the seen-only perplexity leaves out.
  bool count_end = true;  // Whether <eos> is read too, at a position that predicts <pad>, as in the authors' code.
  std::size_t max_length = 28;  // Most tokens of a sentence, <bos> and <eos> included; longer ones are refused.
  std::size_t threads = 0;      // 0: one for each processor.
};

struct Evaluation {
  AttentionMask attention = AttentionMask::causal;  // A perplexity means nothing without it.
  std::size_t num_positions = 0;
  double perplexity = 0.0;            // exp of the mean cross-entropy, without label smoothing.
  double seen_only_perplexity = 0.0;  // The same over positions whose target is not held out; NaN if there is none.
  double feature_mse = 0.0;           // Of the features read back; NaN without fusion.
};

// The result is the same for any number of threads. Throws Error for an unknown or held-out word that the vocabulary
// lacks, and for an empty list of sentences.
Evaluation evaluate(const LanguageModel& model, std::span<const Sentence> sentences,
                    const EvaluationOptions& options = {});

}  // namespace semfuse
