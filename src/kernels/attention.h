// Scaled dot-product attention of one head over one sentence, forward and backward.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "core/matrix_view.h"
#include "kernels/dropout.h"

namespace semfuse {

// One head's view of one sentence of `length` tokens. Row t of the dropout mask is first_dropout_row + t *
// dropout_row_step.
struct AttentionSite {
  bool causal = false;  // Token t reads tokens 0 ... t only; otherwise all.
  float slope = 0.0f;   // Of a causal text: a score falls by so much with each token in between.
  DropoutMask dropout;  // On the attention weights.
  std::size_t first_dropout_row = 0;
  std::size_t dropout_row_step = 1;
};

// Queries of a long text that are worked on together.
constexpr std::size_t kAttentionBlock = 48;

// Columns that `length` weights take: whole vectors of every instruction set.
constexpr std::size_t attention_columns(std::size_t length) {
  return (length + 15) / 16 * 16;
}
// Floats between two rows of attention weights over `length` tokens: rows of long texts must not lie multiples of 2 KB
// apart, or few of them fit into a cache at a time.
constexpr std::size_t attention_stride(std::size_t length) {
  return attention_columns(length) + (attention_columns(length) % 512 == 0 ? 16 : 0);
}
// Floats of a matrix in panels as wide as any instruction set's.
constexpr std::size_t attention_panels(std::size_t rows, std::size_t cols) {
  return (rows + 15) / 16 * 16 * ((cols + 31) / 32 * 32);
}
// Floats of scratch that both functions need, 64-byte aligned.
constexpr std::size_t attention_scratch(std::size_t length, std::size_t head_width) {
  return attention_panels(head_width, length) + attention_panels(length, head_width) +
         attention_panels(kAttentionBlock, head_width) +
         2 * std::min(length, kAttentionBlock) * attention_stride(length);
}

// weights [length, length] (stride attention_stride(length), 64-byte aligned, kept for backward) = softmax(q·kᵀ /
// √head_width - slope · distance); context [length, head_width] = dropout(weights) · v. Of a causal row only what its
// block of kAttentionBlock queries may read is written.
void attention_forward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix weights,
                       Matrix context, float* scratch);

// Keys of a growing sentence: those of kKeyBlock tokens side by side, so that scores of all of them are one vector and
// a new token touches few cache lines. Column i of token t's key of `width` numbers is at key_offset(t, width) + i *
// kKeyBlock.
constexpr std::size_t kKeyBlock = 8;
constexpr std::size_t key_offset(std::size_t token, std::size_t width) {
  return token / kKeyBlock * kKeyBlock * width + token % kKeyBlock;
}

// What one token reads in all heads, without dropout: itself and the tokens before it, values.rows() in all. A head has
// a slope, or none has (empty). q and
// context have values.cols() numbers, keys are as above and 64-byte aligned. The numbers are those of
// attention_forward(). weights: num_heads · attention_stride(values.rows()) floats, 64-byte aligned, a row for each
// head that backward needs.
void attention_over_keys(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                         std::span<const float> slopes, float* context, float* weights);

// From d_context to d_q, d_keys (whole blocks are written) and d_values. `weights` become the gradient of the scores.
void attention_over_keys_backward(const float* q, const float* keys, ConstMatrix values, std::size_t num_heads,
                                  const float* context, const float* d_context, float* weights, float* d_q,
                                  float* d_keys, Matrix d_values);

// From d_context to d_q, d_k, d_v, which may not overlap q, k, v.
void attention_backward(const AttentionSite& site, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix weights,
                        ConstMatrix d_context, Matrix d_q, Matrix d_k, Matrix d_v, float* scratch);

// The same without weights that are kept: of a causal text, those of a block are computed, used and computed again in
// backward, so that memory grows with the length and not with its square.
constexpr std::size_t causal_attention_scratch(std::size_t length, std::size_t head_width) {
  return attention_scratch(length, head_width) + attention_panels(head_width, length);
}
void causal_attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix context, float* scratch);
// From d_context to d_q, d_k, d_v, which may not overlap q, k, v.
void causal_attention_backward(ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix d_context, Matrix d_q,
                               Matrix d_k, Matrix d_v, float* scratch);

}  // namespace semfuse
