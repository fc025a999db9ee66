// AdamW's update of a run of parameters.
#pragma once

#include <cstddef>

namespace semfuse {

struct AdamWUpdate {
  float gradient_scale;  // What the gradient is multiplied with before anything else (clipping).
  float decay;           // 1 - learning rate · weight decay
  float beta1;
  float beta2;
  float rest1;                    // 1 - beta1, rounded once
  float rest2;                    // 1 - beta2, rounded once
  float step_size;                // learning rate / (1 - beta1^t)
  float inverse_sqrt_correction;  // 1 / sqrt(1 - beta2^t)
  float epsilon;
};

// Both moments take the gradient in; then weights ← weights · decay - step_size · m / (√v · inverse_sqrt_correction +
// epsilon).
void adamw_update(const AdamWUpdate& update, std::size_t size, const float* gradient, float* weights, float* m,
                  float* v);

}  // namespace semfuse
