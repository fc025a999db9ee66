// Cross-entropy of single words, wherever they are the target.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "semfuse/evaluation.h"

namespace semfuse {

struct WordCrossEntropy {
  std::string word;
  std::size_t occurrences = 0;
  double cross_entropy = 0.0;  // Mean over the occurrences; NaN without any.
};

// Of each of the words, in their order. Throws Error like evaluate().
std::vector<WordCrossEntropy> word_cross_entropies(const LanguageModel& model, std::span<const Sentence> sentences,
                                                   const std::vector<std::string>& words,
                                                   const EvaluationOptions& options = {});

}  // namespace semfuse
