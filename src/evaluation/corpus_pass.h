// The cross-entropy of every position of a list of sentences.
#pragma once

#include <functional>
#include <span>

#include "semfuse/evaluation.h"

namespace semfuse {

// Calls visit(target, cross-entropy in nats) for every position, in the order of the text, from one thread. Throws
// Error like evaluate().
void for_each_target(const LanguageModel& model, std::span<const Sentence> sentences, const EvaluationOptions& options,
                     const std::function<void(std::size_t target, double cross_entropy)>& visit);

}  // namespace semfuse
