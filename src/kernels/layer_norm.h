// Layer normalisation of rows: by itself, or with residual connection and dropout in one pass each way.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"
#include "kernels/dropout.h"

namespace semfuse {

constexpr float kLayerNormEpsilon = 1e-5f;

// y = gamma ∘ x_hat + beta, where x_hat is residual + dropout(branch) brought to mean 0 and variance 1 in each row.
// `branch` becomes x_hat, which backward needs with inv_std [rows]. Row i of the dropout mask is first_row + i.
void add_layer_norm_forward(Matrix branch, ConstMatrix residual, const DropoutMask& dropout, std::size_t first_row,
                            const float* gamma, const float* beta, float* inv_std, Matrix y);

// d_y becomes the gradient of residual + dropout(branch), x_hat that of branch; d_gamma and d_beta [cols] are added to.
void add_layer_norm_backward(Matrix d_y, Matrix x_hat, const DropoutMask& dropout, std::size_t first_row,
                             const float* gamma, const float* inv_std, float* d_gamma, float* d_beta);

// y = gamma ∘ x_hat + beta, where x_hat is x brought to mean 0 and variance 1 in each row.
void layer_norm_forward(ConstMatrix x, const float* gamma, const float* beta, float* inv_std, Matrix x_hat, Matrix y);

// d_x (+)= the gradient of x; without `accumulate` it may be d_y itself. d_gamma and d_beta [cols] are added to.
void layer_norm_backward(ConstMatrix d_y, ConstMatrix x_hat, const float* gamma, const float* inv_std, float* d_gamma,
                         float* d_beta, bool accumulate, Matrix d_x);

}  // namespace semfuse
