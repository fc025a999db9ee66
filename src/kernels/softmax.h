// Pieces of softmax and of the cross-entropies on one row of logits.
#pragma once

#include <cstddef>

namespace semfuse {

// ln Σ exp(z_j), without overflow.
float log_sum_exp(const float* z, std::size_t size);

// What a cross-entropy needs of a row of logits.
struct LogitSums {
  float log_sum_exp;
  float sum;
};

// z_j becomes (softmax(z)_j - floor) · scale: the gradient of a cross-entropy but for the target's own share. One
// exponential a number; a NaN among the logits makes both sums NaN.
LogitSums softmax_gradient(float* z, std::size_t size, float floor, float scale);

// Binary cross-entropy of σ(z_j) against the target t_j in [0, 1], summed over the row. z_j becomes (σ(z_j) - t_j) ·
// scale.
float sigmoid_cross_entropy(float* z, const float* target, std::size_t size, float scale);

// logits_j += weight · ln(yes · σ(z_j) + no · σ(-z_j)), for yes and no of 0 or more, not both 0.
void tilt_logits(float* logits, const float* z, std::size_t size, float yes, float no, float weight);

// z_j becomes σ(z_j).
void sigmoid(float* z, std::size_t size);

}  // namespace semfuse
