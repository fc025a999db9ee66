#include "kernels/activations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

constexpr std::size_t kRows = 3;

// Calls check(cols, placement) on every instruction set, for every size.
template <class Check>
void sweep(const Check& check) {
  for_each_instruction_set([&] {
    for (const std::size_t cols : every_size(67)) {
      for (const Placement& placement : placements()) {
        check(cols, placement);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(ReluDropoutBackward, PassesOnWhatForwardKept) {
  sweep([](std::size_t cols, const Placement& placement) {
    GuardedMatrix y(kRows, cols, placement);
    GuardedMatrix d_y(kRows, cols, placement);
    y.fill([](std::size_t i, std::size_t j) { return std::max(0.0f, SmallIntegers(1)(i, j)); });
    d_y.fill(SmallIntegers(2));
    relu_dropout_backward(y.view(), 1.5f, d_y.view());
    const double worst = worst_difference(d_y.view(), [&](std::size_t i, std::size_t j) {
      return y(i, j) > 0.0f ? SmallIntegers(2)(i, j) * 1.5f : 0.0f;
    });
    ASSERT_EQ(worst, 0.0) << cols << " columns";
    ASSERT_TRUE(d_y.guards_intact() && y.guards_intact()) << cols << " columns";
  });
}

TEST(Fuse, ForwardAndBackwardEqualPlainLoops) {
  const UniformNumbers e_values(3, 2.0);
  const UniformNumbers u_values(4, 2.0);
  const UniformNumbers gate_values(5, 8.0);
  const UniformNumbers d_h_values(6);
  const auto gate_of = [&](std::size_t i, std::size_t j) {
    return 1.0 / (1.0 + std::exp(-static_cast<double>(gate_values(i, j))));
  };
  sweep([&](std::size_t cols, const Placement& placement) {
    GuardedMatrix e(kRows, cols, placement);
    GuardedMatrix u(kRows, cols, placement);
    GuardedMatrix gate(kRows, cols, placement);
    GuardedMatrix h(kRows, cols, {.gap = placement.gap});
    e.fill(e_values);
    u.fill(u_values);
    gate.fill(gate_values);
    fuse_forward(e.view(), u.view(), gate.view(), h.view());
    ASSERT_LT(worst_difference(gate.view(), gate_of), 5e-7) << cols << " columns";
    ASSERT_EQ(worst_difference(u.view(), u_values), 0.0);
    const double worst = worst_difference(h.view(), [&](std::size_t i, std::size_t j) {
      return static_cast<double>(e_values(i, j)) + (1.0 + gate_of(i, j)) * static_cast<double>(u_values(i, j));
    });
    ASSERT_LT(worst, 2e-6) << cols << " columns";

    GuardedMatrix d_h(kRows, cols, placement);
    d_h.fill(d_h_values);
    fuse_backward(d_h.view(), u.view(), gate.view());
    const double worst_u = worst_difference(u.view(), [&](std::size_t i, std::size_t j) {
      return static_cast<double>(d_h_values(i, j)) * (1.0 + gate_of(i, j));
    });
    const double worst_gate = worst_difference(gate.view(), [&](std::size_t i, std::size_t j) {
      const double g = gate_of(i, j);
      return static_cast<double>(d_h_values(i, j)) * static_cast<double>(u_values(i, j)) * g * (1.0 - g);
    });
    ASSERT_LT(worst_u, 2e-6) << cols << " columns";
    ASSERT_LT(worst_gate, 2e-6) << cols << " columns";
    ASSERT_EQ(worst_difference(d_h.view(), d_h_values), 0.0);
    ASSERT_TRUE(h.guards_intact() && u.guards_intact() && gate.guards_intact()) << cols << " columns";
  });
}

TEST(Fuse, SaturatedGatesStayFinite) {
  for_each_instruction_set([] {
    GuardedMatrix e(1, 40);
    GuardedMatrix u(1, 40);
    GuardedMatrix gate(1, 40);
    GuardedMatrix h(1, 40);
    e.fill([](std::size_t, std::size_t) { return 0.0; });
    u.fill([](std::size_t, std::size_t) { return 1.0; });
    gate.fill([](std::size_t, std::size_t j) { return j % 2 ? 1e4 : -1e4; });
    fuse_forward(e.view(), u.view(), gate.view(), h.view());
    EXPECT_LT(worst_difference(h.view(), [](std::size_t, std::size_t j) { return j % 2 ? 2.0 : 1.0; }), 1e-30);
  });
}

TEST(AddRows, EqualsAPlainLoop) {
  sweep([](std::size_t cols, const Placement& placement) {
    GuardedMatrix rows(kRows, cols, placement);
    GuardedMatrix h(kRows, cols, {.gap = placement.gap + 2});
    rows.fill(SmallIntegers(7));
    h.fill(SmallIntegers(8));
    add_rows(rows.view(), h.view());
    const double worst = worst_difference(
        h.view(), [](std::size_t i, std::size_t j) { return SmallIntegers(7)(i, j) + SmallIntegers(8)(i, j); });
    ASSERT_EQ(worst, 0.0) << cols << " columns";
    ASSERT_TRUE(h.guards_intact()) << cols << " columns";
  });
}

TEST(AddRows, ScalesWhatIsThereFirst) {
  sweep([](std::size_t cols, const Placement& placement) {
    GuardedMatrix rows(kRows, cols, placement);
    GuardedMatrix h(kRows, cols, {.gap = placement.gap + 2});
    rows.fill(SmallIntegers(7));
    h.fill(SmallIntegers(8));
    add_rows(rows.view(), h.view(), 3.0f);
    const auto sum = [](std::size_t i, std::size_t j) {
      return SmallIntegers(7)(i, j) + 3.0f * SmallIntegers(8)(i, j);
    };
    ASSERT_EQ(worst_difference(h.view(), sum), 0.0) << cols << " columns";
    scale_rows(-0.5f, h.view());
    ASSERT_EQ(worst_difference(h.view(), [&](std::size_t i, std::size_t j) { return -0.5f * sum(i, j); }), 0.0);
    ASSERT_TRUE(h.guards_intact()) << cols << " columns";
  });
}

TEST(AddDropped, EqualsAPlainLoop) {
  for (const DropoutMask& mask : {DropoutMask(), DropoutMask(0.5, 1, 2, 3)}) {
    sweep([&](std::size_t cols, const Placement& placement) {
      GuardedMatrix residual(kRows, cols, placement);
      GuardedMatrix branch(kRows, cols, {.gap = placement.gap + 2});
      residual.fill(SmallIntegers(7));
      branch.fill(SmallIntegers(8));
      add_dropped(residual.view(), mask, 11, branch.view());
      const double worst = worst_difference(branch.view(), [&](std::size_t i, std::size_t j) {
        const float kept = !mask.active() ? 1.0f : mask.keeps(11 + i, j) ? mask.scale : 0.0f;
        return SmallIntegers(7)(i, j) + kept * SmallIntegers(8)(i, j);
      });
      ASSERT_EQ(worst, 0.0) << cols << " columns";
      ASSERT_TRUE(branch.guards_intact()) << cols << " columns";
    });
  }
}

}  // namespace
}  // namespace semfuse
