#include "kernels/activations.h"

#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activations.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/sigmoid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

void DropoutForward(Matrix x, const DropoutMask& mask, std::size_t first_row) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    RowDropout dropout(mask, first_row + i);
    float* row = x.row(i);
    for_vectors(x.cols(), [&](std::size_t j, std::size_t count)
                              SEMFUSE_LAMBDA { store(dropout.apply(load(row + j, count), j), row + j, count); });
  }
}

void ReluDropoutBackward(ConstMatrix y, float scale, Matrix d_y) {
  const Tag d;
  const Vector factor = hn::Set(d, scale);
  for (std::size_t i = 0; i < y.rows(); ++i) {
    const float* out = y.row(i);
    float* g = d_y.row(i);
    for_vectors(y.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const auto kept = hn::Gt(load(out + j, count), hn::Zero(d));
      store(hn::IfThenElseZero(kept, hn::Mul(load(g + j, count), factor)), g + j, count);
    });
  }
}

void FuseForward(ConstMatrix e, ConstMatrix u, Matrix gate, Matrix h) {
  for (std::size_t i = 0; i < e.rows(); ++i) {
    const float* e_i = e.row(i);
    const float* u_i = u.row(i);
    float* gate_i = gate.row(i);
    float* h_i = h.row(i);
    for_vectors(e.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector g = sigmoid(load(gate_i + j, count));
      const Vector u_j = load(u_i + j, count);
      store(g, gate_i + j, count);
      store(hn::MulAdd(g, u_j, hn::Add(load(e_i + j, count), u_j)), h_i + j, count);
    });
  }
}

void FuseBackward(ConstMatrix d_h, Matrix u, Matrix gate) {
  const Vector one = hn::Set(Tag(), 1.0f);
  for (std::size_t i = 0; i < d_h.rows(); ++i) {
    const float* d_h_i = d_h.row(i);
    float* u_i = u.row(i);
    float* gate_i = gate.row(i);
    for_vectors(d_h.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector d_out = load(d_h_i + j, count);
      const Vector u_j = load(u_i + j, count);
      const Vector g = load(gate_i + j, count);
      store(hn::MulAdd(d_out, g, d_out), u_i + j, count);
      store(hn::Mul(hn::Mul(d_out, u_j), hn::Mul(g, hn::Sub(one, g))), gate_i + j, count);
    });
  }
}

void AddRows(ConstMatrix rows, Matrix h, float scale) {
  const Vector factor = hn::Set(Tag(), scale);
  for (std::size_t i = 0; i < h.rows(); ++i) {
    const float* r = rows.row(i);
    float* out = h.row(i);
    for_vectors(h.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      store(hn::MulAdd(load(out + j, count), factor, load(r + j, count)), out + j, count);
    });
  }
}

void ScaleRows(float scale, Matrix h) {
  const Vector factor = hn::Set(Tag(), scale);
  for (std::size_t i = 0; i < h.rows(); ++i) {
    float* out = h.row(i);
    for_vectors(h.cols(), [&](std::size_t j, std::size_t count)
                              SEMFUSE_LAMBDA { store(hn::Mul(load(out + j, count), factor), out + j, count); });
  }
}

void AddDropped(ConstMatrix residual, const DropoutMask& mask, std::size_t first_row, Matrix branch) {
  for (std::size_t i = 0; i < branch.rows(); ++i) {
    RowDropout dropout(mask, first_row + i);
    const float* r = residual.row(i);
    float* out = branch.row(i);
    for_vectors(branch.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      store(hn::Add(load(r + j, count), dropout.apply(load(out + j, count), j)), out + j, count);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(DropoutForward);
HWY_EXPORT(ReluDropoutBackward);
HWY_EXPORT(FuseForward);
HWY_EXPORT(FuseBackward);
HWY_EXPORT(AddRows);
HWY_EXPORT(ScaleRows);
HWY_EXPORT(AddDropped);

void dropout_forward(Matrix x, const DropoutMask& dropout, std::size_t first_row) {
  if (dropout.active()) HWY_DYNAMIC_DISPATCH(DropoutForward)(x, dropout, first_row);
}

void relu_dropout_backward(ConstMatrix y, float scale, Matrix d_y) {
  HWY_DYNAMIC_DISPATCH(ReluDropoutBackward)(y, scale, d_y);
}
void fuse_forward(ConstMatrix e, ConstMatrix u, Matrix gate, Matrix h) {
  HWY_DYNAMIC_DISPATCH(FuseForward)(e, u, gate, h);
}
void fuse_backward(ConstMatrix d_h, Matrix u, Matrix gate) {
  HWY_DYNAMIC_DISPATCH(FuseBackward)(d_h, u, gate);
}
void add_rows(ConstMatrix rows, Matrix h, float scale) {
  HWY_DYNAMIC_DISPATCH(AddRows)(rows, h, scale);
}
void scale_rows(float scale, Matrix h) {
  HWY_DYNAMIC_DISPATCH(ScaleRows)(scale, h);
}
void add_dropped(ConstMatrix residual, const DropoutMask& dropout, std::size_t first_row, Matrix branch) {
  HWY_DYNAMIC_DISPATCH(AddDropped)(residual, dropout, first_row, branch);
}

}  // namespace semfuse
#endif
