#include "kernels/rms_norm.h"

#include <cmath>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

template <class Term>
HWY_INLINE float sum_of(std::size_t cols, const Term& term) {
  Vector sum = hn::Zero(Tag());
  for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA { sum = hn::Add(sum, term(j, count)); });
  return hn::GetLane(hn::SumOfLanes(Tag(), sum));
}

void RmsNormForward(ConstMatrix x, const float* weight, float epsilon, float* inv_rms, Matrix y) {
  const auto cols = static_cast<float>(x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float* row = x.row(i);
    const float squares = sum_of(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector v = load(row + j, count);
      return hn::Mul(v, v);
    });
    const float inverse = 1.0f / std::sqrt(squares / cols + epsilon);
    if (inv_rms != nullptr) inv_rms[i] = inverse;
    const Vector factor = hn::Set(Tag(), inverse);
    float* out = y.row(i);
    for_vectors(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      store(hn::Mul(load(weight + j, count), hn::Mul(load(row + j, count), factor)), out + j, count);
    });
  }
}

void RmsNormBackward(ConstMatrix d_y, ConstMatrix x, const float* weight, const float* inv_rms, bool accumulate,
                     Matrix d_x) {
  const auto cols = static_cast<float>(x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float* d_out = d_y.row(i);
    const float* row = x.row(i);
    float* d_row = d_x.row(i);
    // y = w x r with r = (mean x² + ε)^-½, dr/dx = -r³ x / n
    const float dot = sum_of(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      return hn::Mul(hn::Mul(load(d_out + j, count), load(weight + j, count)), load(row + j, count));
    });
    const float r = inv_rms[i];
    const Vector factor = hn::Set(Tag(), r);
    const Vector share = hn::Set(Tag(), dot * r * r * r / cols);
    for_vectors(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector scaled = hn::Mul(hn::Mul(load(d_out + j, count), load(weight + j, count)), factor);
      Vector result = hn::NegMulAdd(share, load(row + j, count), scaled);
      if (accumulate) result = hn::Add(result, load(d_row + j, count));
      store(result, d_row + j, count);
    });
  }
}

struct Spread {
  float mean;
  float inverse;  // 1 / √(variance + epsilon)
};

HWY_INLINE Spread spread_of(const float* row, std::size_t num_cols, float epsilon) {
  const auto cols = static_cast<float>(num_cols);
  const float mean =
      sum_of(num_cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA { return load(row + j, count); }) / cols;
  const Vector middle = hn::Set(Tag(), mean);
  const float squares = sum_of(num_cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
    const Vector v = first_lanes(hn::Sub(load(row + j, count), middle), count);
    return hn::Mul(v, v);
  });
  return {mean, 1.0f / std::sqrt(squares / cols + epsilon)};
}

void PlainLayerNorm(ConstMatrix x, const float* weight, const float* bias, float epsilon, Matrix y) {
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float* row = x.row(i);
    float* out = y.row(i);
    const Spread spread = spread_of(row, x.cols(), epsilon);
    const Vector middle = hn::Set(Tag(), spread.mean);
    const Vector factor = hn::Set(Tag(), spread.inverse);
    for_vectors(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector v = hn::Mul(hn::Sub(load(row + j, count), middle), factor);
      const Vector scaled = hn::Mul(load(weight + j, count), v);
      store(bias != nullptr ? hn::Add(scaled, load(bias + j, count)) : scaled, out + j, count);
    });
  }
}

void PlainLayerNormBackward(ConstMatrix d_y, ConstMatrix x, const float* weight, float epsilon, bool accumulate,
                            Matrix d_x) {
  const auto cols = static_cast<float>(x.cols());
  for (std::size_t i = 0; i < x.rows(); ++i) {
    const float* d_out = d_y.row(i);
    const float* row = x.row(i);
    float* d_row = d_x.row(i);
    const Spread spread = spread_of(row, x.cols(), epsilon);
    const Vector middle = hn::Set(Tag(), spread.mean);
    const Vector factor = hn::Set(Tag(), spread.inverse);
    // y = w x̂ + b: d_x = (g - mean g - x̂ · mean of g x̂) / deviation, for g = d_y w
    const auto gradient = [&](std::size_t j, std::size_t count)
                              SEMFUSE_LAMBDA { return hn::Mul(load(d_out + j, count), load(weight + j, count)); };
    const auto x_hat = [&](std::size_t j, std::size_t count)
                           SEMFUSE_LAMBDA { return hn::Mul(hn::Sub(load(row + j, count), middle), factor); };
    const Vector mean = hn::Set(Tag(), sum_of(x.cols(), gradient) / cols);
    const float dot = sum_of(x.cols(), [&](std::size_t j, std::size_t count)
                                           SEMFUSE_LAMBDA { return hn::Mul(gradient(j, count), x_hat(j, count)); });
    const Vector share = hn::Set(Tag(), dot / cols);
    for_vectors(x.cols(), [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector rest = hn::NegMulAdd(share, x_hat(j, count), hn::Sub(gradient(j, count), mean));
      Vector result = hn::Mul(rest, factor);
      if (accumulate) result = hn::Add(result, load(d_row + j, count));
      store(result, d_row + j, count);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(RmsNormForward);
HWY_EXPORT(RmsNormBackward);
HWY_EXPORT(PlainLayerNorm);
HWY_EXPORT(PlainLayerNormBackward);

void rms_norm_forward(ConstMatrix x, const float* weight, float epsilon, float* inv_rms, Matrix y) {
  HWY_DYNAMIC_DISPATCH(RmsNormForward)(x, weight, epsilon, inv_rms, y);
}
void rms_norm_backward(ConstMatrix d_y, ConstMatrix x, const float* weight, const float* inv_rms, bool accumulate,
                       Matrix d_x) {
  HWY_DYNAMIC_DISPATCH(RmsNormBackward)(d_y, x, weight, inv_rms, accumulate, d_x);
}
void plain_layer_norm(ConstMatrix x, const float* weight, const float* bias, float epsilon, Matrix y) {
  HWY_DYNAMIC_DISPATCH(PlainLayerNorm)(x, weight, bias, epsilon, y);
}
void plain_layer_norm_backward(ConstMatrix d_y, ConstMatrix x, const float* weight, float epsilon, bool accumulate,
                               Matrix d_x) {
  HWY_DYNAMIC_DISPATCH(PlainLayerNormBackward)(d_y, x, weight, epsilon, accumulate, d_x);
}

}  // namespace semfuse
#endif
