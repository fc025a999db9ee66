// How probable a text is to a model, token by token: each after those before it.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "generation/draft.h"
#include "generation/read_model.h"
#include "semfuse/generator.h"

namespace semfuse {

struct TokenScore {
  double log_probability = 0.0;
  std::vector<TokenProbability> top;  // What was most probable there, by descending probability.
};

// May be used from several threads, which take turns.
class PromptScores {
 public:
  // `model` must outlive it and keep its weights.
  explicit PromptScores(const LanguageModel& model);

  // A score for each token, with at most `top` beside it. `request` is what the model is asked for, as request_row()
  // says; empty: nothing. <pad> and <bos> count as impossible. Throws Error for an id that is none of the vocabulary.
  std::vector<TokenScore> of(std::span<const TokenId> ids, const std::vector<float>& request, std::size_t top);

 private:
  const LanguageModel& model_;
  ReadModel read_model_;
  std::mutex mutex_;
  ModelWorker worker_;
};

}  // namespace semfuse
