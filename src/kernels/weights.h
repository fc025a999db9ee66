// Weights of the tokens of a large vocabulary, in double precision: made of logits, summed, cut. Sizes are multiples of
// kWeightBlock.
#pragma once

#include <array>
#include <cstddef>

namespace semfuse {

inline constexpr std::size_t kWeightBlock = 64;  // Numbers are summed in blocks of so many.

// weights_j = exp((z_j - largest) / temperature), and the sum of each block; returns the sum of all. Logits of minus
// infinity have the weight 0.
double exponential_weights(const float* z, std::size_t size, float largest, double temperature, double* weights,
                           double* block_sums);

// For each limit the sum of the weights that are not below it.
using WeightLimits = std::array<double, 4>;
WeightLimits sums_from(const double* weights, std::size_t size, const WeightLimits& limits);

// Writes the weights from `low` up to, but not including, `high` to `found`, in their order, and returns how many there
// are; `found` has room for all weights.
std::size_t weights_between(const double* weights, std::size_t size, double low, double high, double* found);

// Weights below `least` become 0; the sums are made anew.
double drop_weights_below(double* weights, std::size_t size, double least, double* block_sums);

}  // namespace semfuse
