#include "kernels/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

double exact_log_sum_exp(const std::vector<float>& z) {
  double largest = -INFINITY;
  for (const float x : z) largest = std::max(largest, static_cast<double>(x));
  double sum = 0.0;
  for (const float x : z) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum);
}

double exact_sigmoid(double z) {
  return 1.0 / (1.0 + std::exp(-z));
}

// Rows of every size, at several misalignments, moderate and huge.
template <class Check>
void for_each_row(const Check& check) {
  for (const double size : {1.0, 10.0, 80.0, 1e4}) {
    for (std::size_t cols = 1; cols <= 67; cols += cols < 35 ? 1 : 8) {
      const std::size_t misalignment = cols % 5;
      GuardedMatrix z(1, cols, {.misalignment = misalignment, .open_end = misalignment == 3});
      const UniformNumbers random(cols, size);
      // The ends are extreme, so that the largest stands in turn at either end of the row.
      z.fill([&](std::size_t i, std::size_t j) {
        if (cols > 2 && j == 0) return static_cast<float>(cols % 2 ? size : -size);
        if (cols > 2 && j + 1 == cols) return static_cast<float>(cols % 2 ? -size : size);
        return random(i, j);
      });
      check(z, std::vector<float>(z.data(), z.data() + cols), size);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(LogSumExp, IsExactAndDoesNotOverflow) {
  for_each_row([](GuardedMatrix& z, const std::vector<float>& old, double) {
    const double expected = exact_log_sum_exp(old);
    for_each_instruction_set(
        [&] { ASSERT_NEAR(log_sum_exp(z.data(), old.size()), expected, 2e-6 * std::max(1.0, std::abs(expected))); });
  });
}

TEST(LogSumExp, OfEqualNumbersAndOfOne) {
  for_each_instruction_set([] {
    for (const float value : {-1e4f, -80.0f, 0.0f, 80.0f, 1e4f, 3e38f}) {
      const std::vector<float> row(16000, value);
      EXPECT_NEAR(log_sum_exp(row.data(), row.size()) / (static_cast<double>(value) + std::log(16000.0)), 1.0, 1e-5);
      EXPECT_EQ(log_sum_exp(row.data(), 1), value);
    }
  });
}

TEST(LogSumExp, PassesNaNOn) {
  for_each_instruction_set([] {
    for (std::size_t place = 0; place < 20; ++place) {
      std::vector<float> row(20, 1.0f);
      row[place] = std::nanf("");
      EXPECT_FALSE(std::isfinite(log_sum_exp(row.data(), row.size()))) << place;
    }
  });
}

TEST(SoftmaxGradient, EqualsAPlainLoop) {
  for_each_row([](GuardedMatrix& z, const std::vector<float>& old, double) {
    const double log_sum = exact_log_sum_exp(old);
    const double sum = std::accumulate(old.begin(), old.end(), 0.0);
    const double magnitude =
        std::accumulate(old.begin(), old.end(), 0.0, [](double total, float x) { return total + std::abs(x); });
    constexpr float kFloor = 0.003f;
    constexpr float kScale = 0.7f;
    for_each_instruction_set([&] {
      std::copy(old.begin(), old.end(), z.data());
      const LogitSums sums = softmax_gradient(z.data(), old.size(), kFloor, kScale);
      const double worst = worst_difference(z.view(), [&](std::size_t, std::size_t j) {
        return (std::exp(static_cast<double>(old[j]) - log_sum) - static_cast<double>(kFloor)) *
               static_cast<double>(kScale);
      });
      ASSERT_LT(worst, 2e-6) << old.size() << " numbers";
      ASSERT_NEAR(static_cast<double>(sums.log_sum_exp), log_sum, 1e-6 * std::max(1.0, std::abs(log_sum)));
      ASSERT_NEAR(static_cast<double>(sums.sum), sum, 1e-6 * std::max(1.0, magnitude));
      ASSERT_TRUE(z.guards_intact());
    });
  });
}

TEST(SoftmaxGradient, PassesNaNOn) {
  for_each_instruction_set([] {
    for (std::size_t place = 0; place < 20; ++place) {
      std::vector<float> row(20, 1.0f);
      row[place] = std::nanf("");
      EXPECT_TRUE(std::isnan(softmax_gradient(row.data(), row.size(), 0.0f, 1.0f).log_sum_exp)) << place;
    }
  });
}

TEST(Sigmoid, EqualsAPlainLoopAndDoesNotOverflow) {
  for_each_row([](GuardedMatrix& z, const std::vector<float>& old, double) {
    for_each_instruction_set([&] {
      std::copy(old.begin(), old.end(), z.data());
      sigmoid(z.data(), old.size());
      const double worst = worst_difference(
          z.view(), [&](std::size_t, std::size_t j) { return exact_sigmoid(static_cast<double>(old[j])); });
      ASSERT_LT(worst, 5e-7) << old.size() << " numbers";
      ASSERT_TRUE(z.guards_intact());
    });
  });
}

TEST(SigmoidCrossEntropy, EqualsAPlainLoopAndDoesNotOverflow) {
  for_each_row([](GuardedMatrix& z, const std::vector<float>& old, double size) {
    GuardedMatrix target(1, old.size(), {.misalignment = 2, .open_end = true});
    const RandomStream random(old.size(), RandomPurpose::weights);
    target.fill([&](std::size_t, std::size_t j) { return j % 3 == 0 ? 0.0 : j % 3 == 1 ? 1.0 : random.uniform(j); });
    double expected = 0.0;
    for (std::size_t j = 0; j < old.size(); ++j) {
      const auto x = static_cast<double>(old[j]);
      expected += std::max(x, 0.0) - x * static_cast<double>(target(0, j)) + std::log1p(std::exp(-std::abs(x)));
    }
    constexpr float kScale = 0.4f;
    for_each_instruction_set([&] {
      std::copy(old.begin(), old.end(), z.data());
      const auto loss = static_cast<double>(sigmoid_cross_entropy(z.data(), target.data(), old.size(), kScale));
      // The sum of a row is as exact as its largest terms.
      ASSERT_NEAR(loss, expected, 3e-6 * std::max({1.0, expected, size})) << old.size() << " numbers";
      const double worst = worst_difference(z.view(), [&](std::size_t, std::size_t j) {
        return (exact_sigmoid(static_cast<double>(old[j])) - static_cast<double>(target(0, j))) *
               static_cast<double>(kScale);
      });
      ASSERT_LT(worst, 5e-7) << old.size() << " numbers";
      ASSERT_TRUE(z.guards_intact());
    });
  });
}

}  // namespace
}  // namespace semfuse
