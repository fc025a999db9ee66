// Forward passes over a list of sentences, batch by batch.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "model/forward_pass.h"
#include "semfuse/evaluation.h"

namespace semfuse {

// The sentences as the model reads them. Throws Error like evaluate().
std::unique_ptr<Dataset> encode(const LanguageModel& model, std::span<const Sentence> sentences,
                                const EvaluationOptions& options);

// Calls visit(batch, pass), which runs the pass, for the sentences in their order. Throws Error like evaluate().
void for_each_batch(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                    const std::function<void(const Batch& batch, ForwardPass& pass)>& visit);

// The same for texts that are encoded already; of the options, max_length and held_out do not matter.
void for_each_batch(const LanguageModel& model, const Dataset& dataset, const EvaluationOptions& options,
                    const std::function<void(const Batch& batch, ForwardPass& pass)>& visit);

// Calls visit(target, cross-entropy in nats) for every position, in the order of the text, from one thread. Throws
// Error like evaluate().
void for_each_target(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                     const std::function<void(std::size_t target, double cross_entropy)>& visit);

}  // namespace semfuse
