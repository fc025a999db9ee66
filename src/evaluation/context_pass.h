// Texts for measuring, each with what its text has before it.
#pragma once

#include <functional>
#include <span>

#include "batching/batch.h"
#include "model/forward_pass.h"
#include "semfuse/dataset.h"
#include "semfuse/evaluation.h"

namespace semfuse {

// A sentence of a batch: positions of one text, behind some that are there to be read only.
struct ContextWindow {
  std::size_t text = 0;     // Of the dataset.
  std::size_t context = 0;  // Its first positions, which another window predicts.
};

// Packs the texts of a dataset, in their order, into batches of windows. A text is one window; but where a piece of a
// longer text goes on with the one before, as an n-gram model would, it is cut in windows that begin earlier: none has
// more positions than the piece before has, and at least half of these are context. Every position of every text is
// predicted once. A model that is not causal would read ahead, so it gets each piece by itself. Throws Error if there
// is no text.
void for_each_batch_in_context(
    const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options,
    const std::function<void(const Batch& batch, std::span<const ContextWindow> windows, ForwardPass& pass)>& visit);

}  // namespace semfuse
