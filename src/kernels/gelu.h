// The activations of pretrained feed-forward blocks: SwiGLU and both forms of GELU, forward and backward.
#pragma once

#include "core/matrix_view.h"

namespace semfuse {

// up = up ∘ gate ∘ σ(gate)
void swiglu_forward(ConstMatrix gate, Matrix up);
// From d_out: gate becomes its gradient, up its own.
void swiglu_backward(ConstMatrix d_out, Matrix gate, Matrix up);

// GELU as a tanh of a cubic, or exactly by erf, or plain ReLU.
enum class FeedActivation { gelu_tanh, gelu_erf, relu };
void activate_forward(FeedActivation activation, Matrix x);
// d_y becomes d_y times the slope at x.
void activate_backward(FeedActivation activation, ConstMatrix x, Matrix d_y);

}  // namespace semfuse
