// Scaled dot-product attention of one head over one sentence, forward and backward.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"
#include "kernels/dropout.h"

namespace semfuse {

// One head's view of one sentence of `length` tokens. Row t of the dropout mask is first_dropout_row + t *
// dropout_row_step.
struct AttentionSite {
  bool causal = false;  // Token t reads tokens 0 ... t only; otherwise all.
  DropoutMask dropout;  // On the attention weights.
  std::size_t first_dropout_row = 0;
  std::size_t dropout_row_step = 1;
};

// Floats between two rows of attention weights over `length` tokens.
constexpr std::size_t attention_stride(std::size_t length) {
  return (length + 15) / 16 * 16;
}
// Floats of scratch that both functions need.
constexpr std::size_t attention_scratch(std::size_t length, std::size_t head_width) {
  return (2 * length + head_width) * attention_stride(length);
}

// weights [length, length] (stride attention_stride(length), 64-byte aligned, kept for backward) = softmax(q·kᵀ /
// √head_width); context [length, head_width] = dropout(weights) · v
void attention_forward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                       Matrix context, float* scratch);

// Causal attention of the last tokens, without dropout, over keys that are stored by column: keys [head_width,
// capacity] hold those of the first v.rows() tokens; rows begin at multiples of 64 bytes and may be read to whole
// vectors. weights is scratch.
void attention_over_keys(ConstMatrix q, ConstMatrix keys, ConstMatrix v, Matrix weights, Matrix context);

// From d_context to d_q, d_k, d_v, which may not overlap q, k, v.
void attention_backward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                        ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch);

}  // namespace semfuse
