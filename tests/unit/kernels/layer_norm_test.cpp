#include "kernels/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

constexpr std::size_t kLayerNormRows = 4;
constexpr std::size_t kFirstRow = 1000;

double exact_of(float x) {
  return static_cast<double>(x);
}

// A plain twin of both directions, row by row.
struct LayerNormTwin {
  std::vector<double> x_hat, inv_std, y, d_sum, d_branch, d_gamma, d_beta;

  LayerNormTwin(GuardedMatrix& branch, GuardedMatrix& residual, GuardedMatrix& gamma, GuardedMatrix& beta,
                GuardedMatrix& d_y, const DropoutMask& mask, std::size_t cols)
      : x_hat(kLayerNormRows * cols),
        inv_std(kLayerNormRows),
        y(kLayerNormRows * cols),
        d_sum(kLayerNormRows * cols),
        d_branch(kLayerNormRows * cols),
        d_gamma(cols),
        d_beta(cols) {
    const auto n = static_cast<double>(cols);
    for (std::size_t i = 0; i < kLayerNormRows; ++i) {
      const auto kept = [&](std::size_t j) { return mask.keeps(kFirstRow + i, j) ? exact_of(mask.scale) : 0.0; };
      double* x = &x_hat[i * cols];
      double mean = 0.0;
      for (std::size_t j = 0; j < cols; ++j) {
        x[j] = exact_of(residual(i, j)) + exact_of(branch(i, j)) * kept(j);
        mean += x[j] / n;
      }
      double variance = 0.0;
      for (std::size_t j = 0; j < cols; ++j) variance += (x[j] - mean) * (x[j] - mean) / n;
      inv_std[i] = 1.0 / std::sqrt(variance + 1e-5);
      double mean_d = 0.0;
      double mean_dx = 0.0;
      for (std::size_t j = 0; j < cols; ++j) {
        x[j] = (x[j] - mean) * inv_std[i];
        y[i * cols + j] = x[j] * exact_of(gamma(0, j)) + exact_of(beta(0, j));
        d_gamma[j] += exact_of(d_y(i, j)) * x[j];
        d_beta[j] += exact_of(d_y(i, j));
        mean_d += exact_of(d_y(i, j)) * exact_of(gamma(0, j)) / n;
        mean_dx += exact_of(d_y(i, j)) * exact_of(gamma(0, j)) * x[j] / n;
      }
      for (std::size_t j = 0; j < cols; ++j) {
        const double d_hat = exact_of(d_y(i, j)) * exact_of(gamma(0, j));
        d_sum[i * cols + j] = inv_std[i] * (d_hat - mean_d - x[j] * mean_dx);
        d_branch[i * cols + j] = d_sum[i * cols + j] * kept(j);
      }
    }
  }
};

// Row i of residual and branch is scaled and shifted by its own amount.
void check_layer_norm(std::size_t cols, const Placement& placement, const DropoutMask& mask, float d_old) {
  const Placement aligned{.gap = placement.gap, .misalignment = placement.misalignment};
  const auto at = [&](const std::vector<double>& v) {
    return [&v, cols](std::size_t i, std::size_t j) { return v[i * cols + j]; };
  };
  for_each_instruction_set([&] {
    GuardedMatrix branch(kLayerNormRows, cols, aligned);
    GuardedMatrix residual(kLayerNormRows, cols, placement);
    GuardedMatrix gamma(1, cols, placement);
    GuardedMatrix beta(1, cols, placement);
    GuardedMatrix d_y(kLayerNormRows, cols, aligned);
    GuardedMatrix y(kLayerNormRows, cols, aligned);
    GuardedMatrix inv_std(1, kLayerNormRows, {.misalignment = 1});
    GuardedMatrix d_gamma(1, cols, {.misalignment = placement.misalignment});
    GuardedMatrix d_beta(1, cols, {.misalignment = placement.misalignment});
    branch.fill(UniformNumbers(cols));
    residual.fill([&](std::size_t i, std::size_t j) { return UniformNumbers(1)(i, j) + 0.5f * static_cast<float>(i); });
    gamma.fill([](std::size_t i, std::size_t j) { return 1.0f + 0.5f * UniformNumbers(2)(i, j); });
    beta.fill(UniformNumbers(3));
    d_y.fill(UniformNumbers(4));
    d_gamma.fill([&](std::size_t, std::size_t) { return d_old; });
    d_beta.fill([&](std::size_t, std::size_t) { return -d_old; });
    LayerNormTwin twin(branch, residual, gamma, beta, d_y, mask, cols);

    add_layer_norm_forward(branch.view(), residual.view(), mask, kFirstRow, gamma.data(), beta.data(), inv_std.data(),
                           y.view());
    ASSERT_LT(worst_difference(branch.view(), at(twin.x_hat)), 2e-5) << cols << " columns";
    ASSERT_LT(worst_difference(y.view(), at(twin.y)), 2e-5) << cols << " columns";
    for (std::size_t i = 0; i < kLayerNormRows; ++i) ASSERT_NEAR(exact_of(inv_std(0, i)) / twin.inv_std[i], 1.0, 2e-5);
    ASSERT_TRUE(branch.guards_intact() && y.guards_intact() && inv_std.guards_intact()) << cols << " columns";

    add_layer_norm_backward(d_y.view(), branch.view(), mask, kFirstRow, gamma.data(), inv_std.data(), d_gamma.data(),
                            d_beta.data());
    const double size = *std::max_element(twin.inv_std.begin(), twin.inv_std.end());  // Gradients grow with it.
    ASSERT_LT(worst_difference(d_y.view(), at(twin.d_sum)), 2e-5 * size) << cols << " columns";
    ASSERT_LT(worst_difference(branch.view(), at(twin.d_branch)), 2e-5 * size) << cols << " columns";
    ASSERT_LT(
        worst_difference(d_gamma.view(), [&](std::size_t, std::size_t j) { return twin.d_gamma[j] + exact_of(d_old); }),
        5e-5);
    ASSERT_LT(
        worst_difference(d_beta.view(), [&](std::size_t, std::size_t j) { return twin.d_beta[j] - exact_of(d_old); }),
        5e-5);
    ASSERT_TRUE(d_y.guards_intact() && branch.guards_intact() && d_gamma.guards_intact() && d_beta.guards_intact());
  });
}

TEST(LayerNorm, EqualsAPlainLoopAtEverySize) {
  const DropoutMask mask(0.3, 1, 2, 3);
  for (const std::size_t cols : every_size(67)) {
    for (const Placement& placement : placements()) {
      check_layer_norm(cols, placement, DropoutMask(), 0.0f);
      check_layer_norm(cols, placement, mask, 2.0f);
      if (HasFatalFailure()) return;
    }
  }
  check_layer_norm(515, {.gap = 1}, mask, 0.0f);
}

// The same without a branch: a twin whose branch is 0 and whose residual is x.
void check_alone(std::size_t cols, const Placement& placement, bool accumulate) {
  const auto at = [&](const std::vector<double>& v) {
    return [&v, cols](std::size_t i, std::size_t j) { return v[i * cols + j]; };
  };
  for_each_instruction_set([&] {
    GuardedMatrix zeros(kLayerNormRows, cols);
    GuardedMatrix x(kLayerNormRows, cols, placement);
    GuardedMatrix gamma(1, cols, placement);
    GuardedMatrix beta(1, cols, placement);
    GuardedMatrix d_y(kLayerNormRows, cols, placement);
    GuardedMatrix x_hat(kLayerNormRows, cols, {.gap = placement.gap});
    GuardedMatrix y(kLayerNormRows, cols, placement);
    GuardedMatrix inv_std(1, kLayerNormRows, {.misalignment = 1});
    GuardedMatrix d_gamma(1, cols);
    GuardedMatrix d_beta(1, cols);
    GuardedMatrix d_x(kLayerNormRows, cols, {.gap = placement.gap + 1});
    zeros.fill([](std::size_t, std::size_t) { return 0.0f; });
    x.fill([&](std::size_t i, std::size_t j) { return UniformNumbers(1)(i, j) + 0.5f * static_cast<float>(i); });
    gamma.fill([](std::size_t i, std::size_t j) { return 1.0f + 0.5f * UniformNumbers(2)(i, j); });
    beta.fill(UniformNumbers(3));
    d_y.fill(UniformNumbers(4));
    d_gamma.fill(UniformNumbers(5));
    d_beta.fill(UniformNumbers(6));
    d_x.fill(UniformNumbers(7));
    LayerNormTwin twin(zeros, x, gamma, beta, d_y, DropoutMask(), cols);

    layer_norm_forward(x.view(), gamma.data(), beta.data(), inv_std.data(), x_hat.view(), y.view());
    ASSERT_LT(worst_difference(x_hat.view(), at(twin.x_hat)), 2e-5) << cols << " columns";
    ASSERT_LT(worst_difference(y.view(), at(twin.y)), 2e-5) << cols << " columns";
    ASSERT_TRUE(x.guards_intact() && x_hat.guards_intact() && y.guards_intact() && inv_std.guards_intact());

    const double size = *std::max_element(twin.inv_std.begin(), twin.inv_std.end());
    layer_norm_backward(d_y.view(), x_hat.view(), gamma.data(), inv_std.data(), d_gamma.data(), d_beta.data(),
                        accumulate, d_x.view());
    const auto expected = [&](std::size_t i, std::size_t j) {
      return twin.d_sum[i * cols + j] + (accumulate ? exact_of(UniformNumbers(7)(i, j)) : 0.0);
    };
    ASSERT_LT(worst_difference(d_x.view(), expected), 2e-5 * size) << cols << " columns";
    const auto d_gamma_of = [&](std::size_t, std::size_t j) {
      return twin.d_gamma[j] + exact_of(UniformNumbers(5)(0, j));
    };
    const auto d_beta_of = [&](std::size_t, std::size_t j) {
      return twin.d_beta[j] + exact_of(UniformNumbers(6)(0, j));
    };
    ASSERT_LT(worst_difference(d_gamma.view(), d_gamma_of), 5e-5) << cols << " columns";
    ASSERT_LT(worst_difference(d_beta.view(), d_beta_of), 5e-5) << cols << " columns";
    ASSERT_TRUE(d_x.guards_intact() && d_gamma.guards_intact() && d_beta.guards_intact()) << cols << " columns";
    if (accumulate) return;
    // In place: the gradient of y becomes that of x.
    layer_norm_backward(d_y.view(), x_hat.view(), gamma.data(), inv_std.data(), d_gamma.data(), d_beta.data(),
                        /*accumulate=*/false, d_y.view());
    ASSERT_LT(worst_difference(d_y.view(), at(twin.d_sum)), 2e-5 * size) << cols << " columns";
  });
}

TEST(LayerNorm, AloneEqualsAPlainLoopAtEverySize) {
  for (const std::size_t cols : every_size(67)) {
    for (const Placement& placement : placements()) {
      check_alone(cols, placement, false);
      check_alone(cols, placement, true);
      if (HasFatalFailure()) return;
    }
  }
}

// A constant row has variance 0: its output is beta, and its gradient must be finite.
TEST(LayerNorm, ConstantRowsBecomeBeta) {
  for_each_instruction_set([] {
    for (const std::size_t cols : every_size(35)) {
      GuardedMatrix branch(1, cols);
      GuardedMatrix residual(1, cols);
      GuardedMatrix gamma(1, cols);
      GuardedMatrix beta(1, cols);
      GuardedMatrix y(1, cols);
      GuardedMatrix d_y(1, cols);
      GuardedMatrix d_gamma(1, cols);
      GuardedMatrix d_beta(1, cols);
      float inv_std = 0.0f;
      branch.fill([](std::size_t, std::size_t) { return 0.5; });
      residual.fill([](std::size_t, std::size_t) { return 0.25; });
      gamma.fill(UniformNumbers(1));
      beta.fill(UniformNumbers(2));
      d_y.fill(UniformNumbers(3));
      d_gamma.fill([](std::size_t, std::size_t) { return 0.0; });
      d_beta.fill([](std::size_t, std::size_t) { return 0.0; });
      add_layer_norm_forward(branch.view(), residual.view(), {}, 0, gamma.data(), beta.data(), &inv_std, y.view());
      // A mean that is off by an ulp is multiplied by 316.
      ASSERT_LT(worst_difference(y.view(), UniformNumbers(2)), 1e-4) << cols << " columns";
      ASSERT_NEAR(inv_std, 1.0 / std::sqrt(1e-5), 0.01);
      add_layer_norm_backward(d_y.view(), branch.view(), {}, 0, gamma.data(), &inv_std, d_gamma.data(), d_beta.data());
      double sum = 0.0;
      for (std::size_t j = 0; j < cols; ++j) sum += exact_of(d_y(0, j));
      ASSERT_NEAR(sum, 0.0, 1e-3 * static_cast<double>(cols)) << cols << " columns";
      ASSERT_LT(worst_difference(d_beta.view(), UniformNumbers(3)), 1e-7);
    }
  });
}

}  // namespace
}  // namespace semfuse
