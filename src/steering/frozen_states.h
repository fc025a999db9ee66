// Hidden states of texts in a model that stays as it is: what heads are trained on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "model/inference_weights.h"
#include "semfuse/dataset.h"
#include "semfuse/language_model.h"

namespace semfuse {

class FrozenStates {
 public:
  // All must outlive it. The texts must be encoded for the model.
  FrozenStates(const LanguageModel& model, const Dataset& dataset, ThreadPool& pool);

  struct States {
    Batch batch;         // Whose targets are the tokens that follow.
    ConstMatrix hidden;  // [num_tokens, width], valid until the next call.
  };
  // `requests` is a row for each text, as request_row() says; empty: nothing is asked.
  States of(std::span<const std::size_t> texts, std::span<const float> requests = {});

  const InferenceWeights& weights() const { return weights_; }

 private:
  const LanguageModel& model_;
  const Dataset& dataset_;
  ThreadPool& pool_;
  InferenceWeights weights_;
  PositionTable positions_;
  Workspace workspace_;
};

// The texts of a step: drawn with replacement from those that have a label.
std::vector<std::size_t> texts_of_step(std::span<const std::size_t> labelled, std::size_t batch, std::uint64_t seed,
                                       std::uint64_t step);

}  // namespace semfuse
