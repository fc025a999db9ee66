// Norms of rows as pretrained models have them: RMS norm, and layer norm with any epsilon.
#pragma once

#include "core/matrix_view.h"

namespace semfuse {

// y = weight ∘ x / √(mean of x² + epsilon), row by row. inv_rms [rows] is what backward needs; may be null. y may be x.
void rms_norm_forward(ConstMatrix x, const float* weight, float epsilon, float* inv_rms, Matrix y);

// d_x (+)= the gradient of x.
void rms_norm_backward(ConstMatrix d_y, ConstMatrix x, const float* weight, const float* inv_rms, bool accumulate,
                       Matrix d_x);

// y = weight ∘ (x - mean) / √(variance + epsilon) + bias, row by row; bias may be null. y may be x.
void plain_layer_norm(ConstMatrix x, const float* weight, const float* bias, float epsilon, Matrix y);

// d_x (+)= the gradient of x; mean and variance are computed again.
void plain_layer_norm_backward(ConstMatrix d_y, ConstMatrix x, const float* weight, float epsilon, bool accumulate,
                               Matrix d_x);

}  // namespace semfuse
