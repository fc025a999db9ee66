#include "kernels/layer_norm.h"

#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cpp"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace semfuse {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE float sum_of(Vector v) {
  return hn::GetLane(hn::SumOfLanes(Tag(), v));
}

void AddLayerNormForward(Matrix branch, ConstMatrix residual, const DropoutMask& mask, std::size_t first_row,
                         const float* gamma, const float* beta, float* inv_std, Matrix y) {
  const Tag d;
  const std::size_t cols = branch.cols();
  const float inverse_cols = 1.0f / static_cast<float>(cols);
  for (std::size_t i = 0; i < branch.rows(); ++i) {
    RowDropout dropout(mask, first_row + i);
    float* x = branch.row(i);
    const float* r = residual.row(i);
    float* out = y.row(i);
    Vector sum = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector v = hn::Add(load(r + j, count), dropout.apply(load(x + j, count), j));
      store(v, x + j, count);
      sum = hn::Add(sum, first_lanes(v, count));
    });
    const Vector mean = hn::Set(d, sum_of(sum) * inverse_cols);
    Vector squares = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector centred = first_lanes(hn::Sub(load(x + j, count), mean), count);
      squares = hn::MulAdd(centred, centred, squares);
    });
    inv_std[i] = 1.0f / std::sqrt(sum_of(squares) * inverse_cols + kLayerNormEpsilon);
    const Vector factor = hn::Set(d, inv_std[i]);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector x_hat = hn::Mul(hn::Sub(load(x + j, count), mean), factor);
      store(x_hat, x + j, count);
      store(hn::MulAdd(x_hat, load(gamma + j, count), load(beta + j, count)), out + j, count);
    });
  }
}

void AddLayerNormBackward(Matrix d_y, Matrix x_hat, const DropoutMask& mask, std::size_t first_row, const float* gamma,
                          const float* inv_std, float* d_gamma, float* d_beta) {
  const Tag d;
  const std::size_t cols = d_y.cols();
  const float inverse_cols = 1.0f / static_cast<float>(cols);
  for (std::size_t i = 0; i < d_y.rows(); ++i) {
    RowDropout dropout(mask, first_row + i);
    float* g = d_y.row(i);
    float* x = x_hat.row(i);
    Vector sum = hn::Zero(d);
    Vector dot = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector d_out = load(g + j, count);
      const Vector x_j = load(x + j, count);
      store(hn::MulAdd(d_out, x_j, load(d_gamma + j, count)), d_gamma + j, count);
      store(hn::Add(load(d_beta + j, count), d_out), d_beta + j, count);
      const Vector d_hat = hn::Mul(d_out, load(gamma + j, count));
      sum = hn::Add(sum, d_hat);
      dot = hn::MulAdd(d_hat, x_j, dot);
    });
    const Vector mean = hn::Set(d, sum_of(sum) * inverse_cols);
    const Vector slope = hn::Set(d, sum_of(dot) * inverse_cols);
    const Vector factor = hn::Set(d, inv_std[i]);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector d_hat = hn::Mul(load(g + j, count), load(gamma + j, count));
      const Vector d_sum = hn::Mul(factor, hn::Sub(hn::Sub(d_hat, mean), hn::Mul(load(x + j, count), slope)));
      store(d_sum, g + j, count);
      store(dropout.apply(d_sum, j), x + j, count);
    });
  }
}

void LayerNormForward(ConstMatrix input, const float* gamma, const float* beta, float* inv_std, Matrix x_hat,
                      Matrix y) {
  const Tag d;
  const std::size_t cols = input.cols();
  const float inverse_cols = 1.0f / static_cast<float>(cols);
  for (std::size_t i = 0; i < input.rows(); ++i) {
    const float* x = input.row(i);
    float* hat = x_hat.row(i);
    float* out = y.row(i);
    Vector sum = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count)
                          SEMFUSE_LAMBDA { sum = hn::Add(sum, first_lanes(load(x + j, count), count)); });
    const Vector mean = hn::Set(d, sum_of(sum) * inverse_cols);
    Vector squares = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector centred = first_lanes(hn::Sub(load(x + j, count), mean), count);
      squares = hn::MulAdd(centred, centred, squares);
    });
    inv_std[i] = 1.0f / std::sqrt(sum_of(squares) * inverse_cols + kLayerNormEpsilon);
    const Vector factor = hn::Set(d, inv_std[i]);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector normal = hn::Mul(hn::Sub(load(x + j, count), mean), factor);
      store(normal, hat + j, count);
      store(hn::MulAdd(normal, load(gamma + j, count), load(beta + j, count)), out + j, count);
    });
  }
}

void LayerNormBackward(ConstMatrix d_y, ConstMatrix x_hat, const float* gamma, const float* inv_std, float* d_gamma,
                       float* d_beta, bool accumulate, Matrix d_x) {
  const Tag d;
  const std::size_t cols = d_y.cols();
  const float inverse_cols = 1.0f / static_cast<float>(cols);
  for (std::size_t i = 0; i < d_y.rows(); ++i) {
    const float* g = d_y.row(i);
    const float* x = x_hat.row(i);
    float* out = d_x.row(i);
    Vector sum = hn::Zero(d);
    Vector dot = hn::Zero(d);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector d_out = load(g + j, count);
      const Vector x_j = load(x + j, count);
      store(hn::MulAdd(d_out, x_j, load(d_gamma + j, count)), d_gamma + j, count);
      store(hn::Add(load(d_beta + j, count), d_out), d_beta + j, count);
      const Vector d_hat = hn::Mul(d_out, load(gamma + j, count));
      sum = hn::Add(sum, d_hat);
      dot = hn::MulAdd(d_hat, x_j, dot);
    });
    const Vector mean = hn::Set(d, sum_of(sum) * inverse_cols);
    const Vector slope = hn::Set(d, sum_of(dot) * inverse_cols);
    const Vector factor = hn::Set(d, inv_std[i]);
    for_vectors(cols, [&](std::size_t j, std::size_t count) SEMFUSE_LAMBDA {
      const Vector d_hat = hn::Mul(load(g + j, count), load(gamma + j, count));
      const Vector d_in = hn::Mul(factor, hn::Sub(hn::Sub(d_hat, mean), hn::Mul(load(x + j, count), slope)));
      store(accumulate ? hn::Add(load(out + j, count), d_in) : d_in, out + j, count);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace semfuse
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace semfuse {

HWY_EXPORT(AddLayerNormForward);
HWY_EXPORT(AddLayerNormBackward);
HWY_EXPORT(LayerNormForward);
HWY_EXPORT(LayerNormBackward);

void add_layer_norm_forward(Matrix branch, ConstMatrix residual, const DropoutMask& dropout, std::size_t first_row,
                            const float* gamma, const float* beta, float* inv_std, Matrix y) {
  assert(branch.cols() == residual.cols() && branch.rows() == residual.rows());
  HWY_DYNAMIC_DISPATCH(AddLayerNormForward)(branch, residual, dropout, first_row, gamma, beta, inv_std, y);
}

void add_layer_norm_backward(Matrix d_y, Matrix x_hat, const DropoutMask& dropout, std::size_t first_row,
                             const float* gamma, const float* inv_std, float* d_gamma, float* d_beta) {
  assert(d_y.cols() == x_hat.cols() && d_y.rows() == x_hat.rows());
  HWY_DYNAMIC_DISPATCH(AddLayerNormBackward)(d_y, x_hat, dropout, first_row, gamma, inv_std, d_gamma, d_beta);
}

void layer_norm_forward(ConstMatrix x, const float* gamma, const float* beta, float* inv_std, Matrix x_hat, Matrix y) {
  assert(x.cols() == y.cols() && x.rows() == y.rows() && x.cols() == x_hat.cols() && x.rows() == x_hat.rows());
  HWY_DYNAMIC_DISPATCH(LayerNormForward)(x, gamma, beta, inv_std, x_hat, y);
}

void layer_norm_backward(ConstMatrix d_y, ConstMatrix x_hat, const float* gamma, const float* inv_std, float* d_gamma,
                         float* d_beta, bool accumulate, Matrix d_x) {
  assert(d_y.cols() == x_hat.cols() && d_y.rows() == x_hat.rows());
  HWY_DYNAMIC_DISPATCH(LayerNormBackward)(d_y, x_hat, gamma, inv_std, d_gamma, d_beta, accumulate, d_x);
}

}  // namespace semfuse
#endif
