// Elementwise steps of the network on rows: dropout, sums, the fusion gate, and their gradients.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"
#include "kernels/dropout.h"

namespace semfuse {

// Drops numbers of x in place; row i of the mask is first_row + i.
void dropout_forward(Matrix x, const DropoutMask& dropout, std::size_t first_row);

// Gradient of dropout(relu(·)) from its output y: d_y becomes d_y · scale where y > 0 and 0 elsewhere.
void relu_dropout_backward(ConstMatrix y, float scale, Matrix d_y);

// gate = σ(gate), then h = e + u + gate ∘ u
void fuse_forward(ConstMatrix e, ConstMatrix u, Matrix gate, Matrix h);

// From d_h: u becomes d_u = d_h ∘ (1 + gate), gate becomes the gradient of its input, d_h ∘ u ∘ gate ∘ (1 - gate).
void fuse_backward(ConstMatrix d_h, Matrix u, Matrix gate);

// h = scale · h + rows
void add_rows(ConstMatrix rows, Matrix h, float scale = 1.0f);

// h = scale · h
void scale_rows(float scale, Matrix h);

// branch = residual + dropout(branch); row i of the mask is first_row + i.
void add_dropped(ConstMatrix residual, const DropoutMask& dropout, std::size_t first_row, Matrix branch);

}  // namespace semfuse
