#include "kernels/gelu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gelu.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/sigmoid-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

template <class Body>
HWY_INLINE void for_rows(std::size_t rows, std::size_t cols, const Body& body) {
  for (std::size_t i = 0; i < rows; ++i) {
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA { body(i, j, count); });
  }
}

void SwigluForward(ConstMatrix gate, Matrix up) {
  for_rows(up.rows(), up.cols(), [&](std::size_t i, std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector g = load(gate.row(i) + j, count);
    const Vector u = load(up.row(i) + j, count);
    store(hn::Mul(u, hn::Mul(g, sigmoid(g))), up.row(i) + j, count);
  });
}

void SwigluBackward(ConstMatrix d_out, Matrix gate, Matrix up) {
  const Vector one = hn::Set(Tag(), 1.0f);
  for_rows(up.rows(), up.cols(), [&](std::size_t i, std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector d = load(d_out.row(i) + j, count);
    const Vector g = load(gate.row(i) + j, count);
    const Vector u = load(up.row(i) + j, count);
    const Vector s = sigmoid(g);
    // (g σ)' = σ (1 + g (1 - σ))
    const Vector slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
    store(hn::Mul(hn::Mul(d, u), slope), gate.row(i) + j, count);
    store(hn::Mul(d, hn::Mul(g, s)), up.row(i) + j, count);
  });
}

// √(2/π) and the cubic's factor.
constexpr float kGeluScale = 0.7978845608028654f;
constexpr float kGeluCubic = 0.044715f;

// ½ x (1 + tanh(z)) = x σ(2z)
void GeluTanhForward(Matrix x) {
  const Vector cubic = hn::Set(Tag(), kGeluCubic);
  const Vector scale = hn::Set(Tag(), 2.0f * kGeluScale);
  for_rows(x.rows(), x.cols(), [&](std::size_t i, std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector v = load(x.row(i) + j, count);
    const Vector z = hn::Mul(scale, hn::MulAdd(hn::Mul(cubic, v), hn::Mul(v, v), v));
    store(hn::Mul(v, sigmoid(z)), x.row(i) + j, count);
  });
}

void GeluTanhBackward(ConstMatrix x, Matrix d_y) {
  const Vector one = hn::Set(Tag(), 1.0f);
  const Vector cubic = hn::Set(Tag(), kGeluCubic);
  const Vector scale = hn::Set(Tag(), 2.0f * kGeluScale);
  for_rows(x.rows(), x.cols(), [&](std::size_t i, std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector v = load(x.row(i) + j, count);
    const Vector squared = hn::Mul(v, v);
    const Vector s = sigmoid(hn::Mul(scale, hn::MulAdd(hn::Mul(cubic, v), squared, v)));
    const Vector z_slope = hn::Mul(scale, hn::MulAdd(hn::Mul(hn::Set(Tag(), 3.0f), cubic), squared, one));
    // (x σ(z))' = σ + x σ (1 - σ) z'
    const Vector slope = hn::MulAdd(hn::Mul(hn::Mul(v, s), hn::Sub(one, s)), z_slope, s);
    store(hn::Mul(load(d_y.row(i) + j, count), slope), d_y.row(i) + j, count);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(SwigluForward);
HWY_EXPORT(SwigluBackward);
HWY_EXPORT(GeluTanhForward);
HWY_EXPORT(GeluTanhBackward);

namespace {

// Highway has no erf, and models that use it are few and small.
float gelu_erf(float x) {
  return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
}
float gelu_erf_slope(float x) {
  const float density = 0.3989422804f * std::exp(-0.5f * x * x);
  return 0.5f * (1.0f + std::erf(x * 0.70710678f)) + x * density;
}

}  // namespace

void swiglu_forward(ConstMatrix gate, Matrix up) {
  HWY_DYNAMIC_DISPATCH(SwigluForward)(gate, up);
}
void swiglu_backward(ConstMatrix d_out, Matrix gate, Matrix up) {
  HWY_DYNAMIC_DISPATCH(SwigluBackward)(d_out, gate, up);
}

void activate_forward(FeedActivation activation, Matrix x) {
  if (activation == FeedActivation::gelu_tanh) {
    HWY_DYNAMIC_DISPATCH(GeluTanhForward)(x);
    return;
  }
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (float* v = x.row(i); v != x.row(i) + x.cols(); ++v) {
      *v = activation == FeedActivation::relu ? std::max(0.0f, *v) : gelu_erf(*v);
    }
  }
}

void activate_backward(FeedActivation activation, ConstMatrix x, Matrix d_y) {
  if (activation == FeedActivation::gelu_tanh) {
    HWY_DYNAMIC_DISPATCH(GeluTanhBackward)(x, d_y);
    return;
  }
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < x.cols(); ++j) {
      const float v = x(i, j);
      d_y(i, j) *= activation == FeedActivation::relu ? (v > 0.0f ? 1.0f : 0.0f) : gelu_erf_slope(v);
    }
  }
}

}  // namespace semfuse
#endif
