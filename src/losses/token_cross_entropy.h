// Label-smoothed cross-entropy of the next token.
#pragma once

#include <span>

#include "core/matrix_view.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Sum over the rows of the cross-entropy between softmax(logits) and the smoothed target: (1 - smoothing) on the
// target, smoothing / vocab_size on every token. The logits become scale times their gradient.
double token_cross_entropy(Matrix logits, std::span<const TokenId> targets, double smoothing, float scale);

}  // namespace semfuse
