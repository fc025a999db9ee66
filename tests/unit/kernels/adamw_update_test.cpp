#include "kernels/adamw_update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

struct Twin {
  double weight;
  double m;
  double v;
};

AdamWUpdate update_at(int t) {
  constexpr double kRate = 1e-2;
  return {.gradient_scale = 0.25f,
          .decay = static_cast<float>(1.0 - kRate * 0.1),
          .beta1 = 0.9f,
          .beta2 = 0.999f,
          .rest1 = 0.1f,
          .rest2 = 0.001f,
          .step_size = static_cast<float>(kRate / (1.0 - std::pow(0.9, t))),
          .inverse_sqrt_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(0.999, t))),
          .epsilon = 1e-8f};
}

TEST(AdamWUpdate, FollowsTheFormulaInDouble) {
  for (std::size_t size = 1; size <= 70; size += size < 35 ? 1 : 5) {
    for_each_instruction_set([&] {
      GuardedMatrix gradient(1, size, {.misalignment = size % 5, .open_end = true});
      GuardedMatrix weights(1, size, {.misalignment = size % 3});
      GuardedMatrix m(1, size, {.misalignment = size % 7});
      GuardedMatrix v(1, size, {.misalignment = size % 2});
      weights.fill(UniformNumbers(1));
      m.fill([](std::size_t, std::size_t) { return 0.0; });
      v.fill([](std::size_t, std::size_t) { return 0.0; });
      std::vector<Twin> twins;
      for (std::size_t i = 0; i < size; ++i)
        twins.push_back({.weight = static_cast<double>(weights(0, i)), .m = 0, .v = 0});
      for (int t = 1; t <= 8; ++t) {
        gradient.fill(UniformNumbers(static_cast<std::uint64_t>(10 + t)));
        adamw_update(update_at(t), size, gradient.data(), weights.data(), m.data(), v.data());
        for (std::size_t i = 0; i < size; ++i) {
          Twin& twin = twins[i];
          const double g = static_cast<double>(gradient(0, i)) * 0.25;
          twin.m = 0.9 * twin.m + 0.1 * g;
          twin.v = 0.999 * twin.v + 0.001 * g * g;
          twin.weight *= 1.0 - 1e-2 * 0.1;
          const double m_hat = twin.m / (1.0 - std::pow(0.9, t));
          const double v_hat = twin.v / (1.0 - std::pow(0.999, t));
          twin.weight -= 1e-2 * m_hat / (std::sqrt(v_hat) + 1e-8);
        }
        ASSERT_LT(worst_difference(weights.view(), [&](std::size_t, std::size_t i) { return twins[i].weight; }), 1e-6);
        ASSERT_LT(worst_difference(m.view(), [&](std::size_t, std::size_t i) { return twins[i].m; }), 1e-7);
        ASSERT_LT(worst_difference(v.view(), [&](std::size_t, std::size_t i) { return twins[i].v; }), 1e-9);
      }
      ASSERT_TRUE(weights.guards_intact() && m.guards_intact() && v.guards_intact()) << size << " numbers";
    });
  }
}

// The gaps of a parameter block hold zeros and must keep them.
TEST(AdamWUpdate, ZerosStayZero) {
  for_each_instruction_set([] {
    std::vector<float> gradient(16), weights(16), m(16), v(16);
    for (int t = 1; t <= 3; ++t) adamw_update(update_at(t), 16, gradient.data(), weights.data(), m.data(), v.data());
    for (std::size_t i = 0; i < 16; ++i) EXPECT_TRUE(weights[i] == 0.0f && m[i] == 0.0f && v[i] == 0.0f);
  });
}

}  // namespace
}  // namespace semfuse
