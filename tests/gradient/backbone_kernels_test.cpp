// The steps of pretrained layers that need a gradient of their own, against complex-step twins.
#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <vector>

#include "core/random.h"
#include "kernels/gelu.h"
#include "kernels/rms_norm.h"
#include "kernels/rotary.h"
#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

using Complex = std::complex<double>;
using Row = std::vector<Complex>;

constexpr double kStep = 1e-30;

// Σ weights ∘ f(row) differentiated by each number of the row.
std::vector<double> complex_step(const std::vector<double>& row, const std::vector<double>& weights,
                                 const std::function<Row(const Row&)>& f) {
  std::vector<double> gradient;
  for (std::size_t i = 0; i < row.size(); ++i) {
    Row x(row.begin(), row.end());
    x[i] += Complex(0, kStep);
    const Row y = f(x);
    double sum = 0.0;
    for (std::size_t j = 0; j < y.size(); ++j) sum += weights[j] * y[j].imag();
    gradient.push_back(sum / kStep);
  }
  return gradient;
}

std::vector<double> row_of(Matrix x, std::size_t i) {
  return {x.row(i), x.row(i) + x.cols()};
}

TEST(BackboneKernels, RmsNormHasItsGradient) {
  for_each_instruction_set([] {
    for (const std::size_t cols : {1, 7, 16, 37}) {
      GuardedMatrix x(3, cols), y(3, cols), d_y(3, cols), d_x(3, cols), weight(1, cols), inverse(1, 3);
      x.fill(UniformNumbers(1));
      d_y.fill(UniformNumbers(2));
      weight.fill(UniformNumbers(3));
      d_x.fill([](std::size_t, std::size_t) { return 0.5f; });
      rms_norm_forward(x.view(), weight.data(), 0.01f, inverse.data(), y.view());
      rms_norm_backward(d_y.view(), x.view(), weight.data(), inverse.data(), /*accumulate=*/true, d_x.view());
      for (std::size_t r = 0; r < 3; ++r) {
        const auto gradient = complex_step(row_of(x.view(), r), row_of(d_y.view(), r), [&](const Row& row) {
          Complex squares = 0.0;
          for (const Complex& v : row) squares += v * v;
          Row out;
          for (std::size_t j = 0; j < cols; ++j) {
            out.push_back(static_cast<double>(weight(0, j)) * row[j] /
                          std::sqrt(squares / static_cast<double>(cols) + static_cast<double>(0.01f)));
          }
          return out;
        });
        for (std::size_t j = 0; j < cols; ++j) EXPECT_NEAR(d_x(r, j), 0.5 + gradient[j], 2e-5);
      }
    }
  });
}

TEST(BackboneKernels, LayerNormHasItsGradient) {
  for_each_instruction_set([] {
    for (const std::size_t cols : {2, 7, 16, 37}) {
      for (const bool accumulate : {false, true}) {
        GuardedMatrix x(3, cols), d_y(3, cols), d_x(3, cols), weight(1, cols);
        x.fill(UniformNumbers(1));
        d_y.fill(UniformNumbers(2));
        weight.fill(UniformNumbers(3));
        d_x.fill([](std::size_t, std::size_t) { return 0.5f; });
        plain_layer_norm_backward(d_y.view(), x.view(), weight.data(), 0.01f, accumulate, d_x.view());
        for (std::size_t r = 0; r < 3; ++r) {
          const auto gradient = complex_step(row_of(x.view(), r), row_of(d_y.view(), r), [&](const Row& row) {
            const auto n = static_cast<double>(cols);
            Complex mean = 0.0, squares = 0.0;
            for (const Complex& v : row) mean += v / n;
            for (const Complex& v : row) squares += (v - mean) * (v - mean);
            Row out;
            for (std::size_t j = 0; j < cols; ++j) {
              out.push_back(static_cast<double>(weight(0, j)) * (row[j] - mean) /
                            std::sqrt(squares / n + static_cast<double>(0.01f)));
            }
            return out;
          });
          for (std::size_t j = 0; j < cols; ++j) EXPECT_NEAR(d_x(r, j), (accumulate ? 0.5 : 0.0) + gradient[j], 5e-5);
        }
      }
    }
  });
}

TEST(BackboneKernels, SwigluHasItsGradients) {
  for_each_instruction_set([] {
    for (const std::size_t cols : {1, 19, 32}) {
      GuardedMatrix gate(2, cols), up(2, cols), d_out(2, cols);
      gate.fill(UniformNumbers(1, 4.0));
      up.fill(UniformNumbers(2));
      d_out.fill(UniformNumbers(3));
      std::vector<std::vector<double>> gates, ups;
      for (std::size_t r = 0; r < 2; ++r) {
        gates.push_back(row_of(gate.view(), r));
        ups.push_back(row_of(up.view(), r));
      }
      swiglu_backward(d_out.view(), gate.view(), up.view());
      for (std::size_t r = 0; r < 2; ++r) {
        const auto silu = [](const Complex& g) { return g / (1.0 + std::exp(-g)); };
        const auto d_gate = complex_step(gates[r], row_of(d_out.view(), r), [&](const Row& row) {
          Row out;
          for (std::size_t j = 0; j < cols; ++j) out.push_back(ups[r][j] * silu(row[j]));
          return out;
        });
        for (std::size_t j = 0; j < cols; ++j) {
          EXPECT_NEAR(gate(r, j), d_gate[j], 2e-5);
          EXPECT_NEAR(up(r, j), static_cast<double>(d_out(r, j)) * silu(gates[r][j]).real(), 2e-5);
        }
      }
    }
  });
}

TEST(BackboneKernels, GeluAndReluHaveTheirGradients) {
  for_each_instruction_set([] {
    for (const FeedActivation activation :
         {FeedActivation::gelu_tanh, FeedActivation::gelu_erf, FeedActivation::relu}) {
      GuardedMatrix x(2, 21), d_y(2, 21), slope(2, 21);
      x.fill(UniformNumbers(5, 6.0));
      d_y.fill(UniformNumbers(6));
      for (std::size_t r = 0; r < 2; ++r) std::copy_n(d_y.view().row(r), 21, slope.view().row(r));
      activate_backward(activation, x.view(), slope.view());
      for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t j = 0; j < 21; ++j) {
          const double v = x(r, j);
          double expected = v > 0.0 ? 1.0 : 0.0;
          if (activation == FeedActivation::gelu_tanh) {
            const Complex z(v, kStep);
            const Complex y = 0.5 * z * (1.0 + std::tanh(0.7978845608028654 * (z + 0.044715 * z * z * z)));
            expected = y.imag() / kStep;
          } else if (activation == FeedActivation::gelu_erf) {
            const auto gelu = [](double t) { return 0.5 * t * (1.0 + std::erf(t / std::sqrt(2.0))); };
            expected = (gelu(v + 1e-5) - gelu(v - 1e-5)) / 2e-5;  // No erf of a complex number at hand.
          }
          EXPECT_NEAR(slope(r, j), static_cast<double>(d_y(r, j)) * expected, 2e-5);
        }
      }
    }
  });
}

TEST(BackboneKernels, RotaryTurnsBack) {
  for (const bool halves : {false, true}) {
    RotaryTable table(10, 10000.0);
    table.reserve(40);
    GuardedMatrix x(1, 30), turned(1, 30);
    x.fill(UniformNumbers(8));
    std::copy_n(x.data(), 30, turned.data());
    table.turn(33, halves, /*back=*/false, turned.data(), 3);
    double change = 0.0;
    double before = 0.0;
    double after = 0.0;
    for (std::size_t j = 0; j < 30; ++j) {
      change += std::abs(turned(0, j) - x(0, j));
      before += x(0, j) * x(0, j);
      after += turned(0, j) * turned(0, j);
    }
    EXPECT_GT(change, 1.0);
    EXPECT_NEAR(before, after, 1e-5);
    // A rotation's gradient is the rotation back.
    table.turn(33, halves, /*back=*/true, turned.data(), 3);
    for (std::size_t j = 0; j < 30; ++j) EXPECT_NEAR(turned(0, j), x(0, j), 1e-6);
  }
}

}  // namespace
}  // namespace semfuse
