#include "kernels/matmul.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/workspace.h"
#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

// All numbers are small integers, so every order of summation gives the same float and results are compared exactly.

std::vector<double> product(ConstMatrix a, ConstMatrix b) {
  std::vector<double> c(a.rows() * b.cols());
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t k = 0; k < a.cols(); ++k) {
      const auto a_ik = static_cast<double>(a.row(i)[k]);
      for (std::size_t j = 0; j < b.cols(); ++j) c[i * b.cols() + j] += a_ik * static_cast<double>(b.row(k)[j]);
    }
  }
  return c;
}

struct Sizes {
  std::size_t rows;
  std::size_t cols;
  std::size_t depth;
};

void PrintTo(const Sizes& s, std::ostream* out) {
  *out << s.rows << " x " << s.cols << ", depth " << s.depth;
}

// c = a · b with b packed from itself or from its transpose, with every option.
void check_packed(const Sizes& s, const Placement& placement) {
  GuardedMatrix a(s.rows, s.depth, placement);
  GuardedMatrix b(s.depth, s.cols, placement);
  GuardedMatrix b_transposed(s.cols, s.depth, placement);
  GuardedMatrix bias(1, s.cols, {.misalignment = placement.misalignment, .open_end = true});
  a.fill(SmallIntegers(1));
  b.fill(SmallIntegers(2));
  b_transposed.fill([&](std::size_t i, std::size_t j) { return b(j, i); });
  bias.fill(SmallIntegers(3));
  const SmallIntegers old(4);
  const std::vector<double> expected = product(a.view(), b.view());

  for_each_instruction_set([&] {
    const std::size_t size = packed_size(s.depth, s.cols);
    GuardedMatrix packed(1, size);
    for (const bool transposed : {false, true}) {
      if (transposed) {
        pack_transposed(b_transposed.view(), packed.data());
      } else {
        pack(b.view(), packed.data());
      }
      ASSERT_TRUE(packed.guards_intact()) << testing::PrintToString(s);
      const PackedMatrix packed_b{.data = packed.data(), .depth = s.depth, .cols = s.cols};
      for (int option = 0; option < 5; ++option) {
        const bool with_bias = option == 1 || option == 3;
        const bool relu = option == 2 || option == 3;
        const bool accumulate = option == 4;
        GuardedMatrix c(s.rows, s.cols, {.gap = placement.gap, .misalignment = placement.misalignment});
        if (accumulate) c.fill(old);
        matmul(a.view(), packed_b, c.view(),
               {.bias = with_bias ? bias.data() : nullptr, .relu = relu, .accumulate = accumulate});
        const double worst = worst_difference(c.view(), [&](std::size_t i, std::size_t j) {
          double value = expected[i * s.cols + j] + static_cast<double>(with_bias ? bias(0, j) : 0.0f);
          if (relu) value = std::max(value, 0.0);
          return accumulate ? value + static_cast<double>(old(i, j)) : value;
        });
        ASSERT_EQ(worst, 0.0) << testing::PrintToString(s) << ", option " << option << ", transposed " << transposed;
        ASSERT_TRUE(c.guards_intact()) << testing::PrintToString(s) << ", option " << option;
      }
    }
  });
}

void check_transposed_a(const Sizes& s, const Placement& placement) {
  GuardedMatrix a(s.depth, s.rows, placement);
  GuardedMatrix a_transposed(s.rows, s.depth);
  GuardedMatrix b(s.depth, s.cols, placement);
  a.fill(SmallIntegers(5));
  b.fill(SmallIntegers(6));
  a_transposed.fill([&](std::size_t i, std::size_t j) { return a(j, i); });
  const SmallIntegers old(7);
  const std::vector<double> expected = product(a_transposed.view(), b.view());

  for_each_instruction_set([&] {
    for (const bool accumulate : {false, true}) {
      GuardedMatrix c(s.rows, s.cols, {.gap = placement.gap, .misalignment = placement.misalignment});
      if (accumulate) c.fill(old);
      matmul_transposed_a(a.view(), b.view(), c.view(), accumulate);
      const double worst = worst_difference(c.view(), [&](std::size_t i, std::size_t j) {
        return expected[i * s.cols + j] + (accumulate ? static_cast<double>(old(i, j)) : 0.0);
      });
      ASSERT_EQ(worst, 0.0) << testing::PrintToString(s) << ", accumulate " << accumulate;
      ASSERT_TRUE(c.guards_intact()) << testing::PrintToString(s);
    }
  });
}

template <class Check>
void sweep_sizes(const Check& check) {
  std::size_t turn = 0;
  const auto next = [&] { return placements()[turn++ % placements().size()]; };
  for (const std::size_t rows : every_size()) {
    for (const std::size_t cols : every_size(66)) {
      check(Sizes{rows, cols, 1 + (rows * 7 + cols) % 11}, next());
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  for (const std::size_t depth : every_size()) {
    for (const std::size_t rows : {1, 6, 13, 25}) {
      for (const std::size_t cols : {1, 9, 16, 31, 33}) {
        check(Sizes{rows, cols, depth}, next());
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Matmul, EqualsAPlainLoopAtEverySize) {
  sweep_sizes(check_packed);
}
TEST(MatmulTransposedA, EqualsAPlainLoopAtEverySize) {
  sweep_sizes(check_transposed_a);
}

TEST(Matmul, CrossesItsBlocks) {
  check_packed({.rows = 14, .cols = 35, .depth = 513}, {.gap = 3});
  check_packed({.rows = 5, .cols = 259, .depth = 1030}, {.misalignment = 3});
  check_packed({.rows = 3, .cols = 17, .depth = 512}, {});
}

TEST(MatmulTransposedA, CrossesItsBlocks) {
  check_transposed_a({.rows = 14, .cols = 258, .depth = 513}, {.gap = 3});
  check_transposed_a({.rows = 30, .cols = 513, .depth = 70}, {.misalignment = 3});
  check_transposed_a({.rows = 2, .cols = 31, .depth = 1025}, {});
}

// Threads share rows out between them: a row's result may not depend on which rows are computed with it.
TEST(Matmul, RowsDoNotDependOnTheirNeighbours) {
  constexpr std::size_t kRows = 29;
  GuardedMatrix a(kRows, 77);
  GuardedMatrix b(77, 45);
  a.fill(UniformNumbers(8));
  b.fill(UniformNumbers(9));
  for_each_instruction_set([&] {
    GuardedMatrix packed(1, packed_size(77, 45));
    pack(b.view(), packed.data());
    const PackedMatrix packed_b{.data = packed.data(), .depth = 77, .cols = 45};
    GuardedMatrix all(kRows, 45);
    GuardedMatrix some(kRows, 45);
    matmul(a.view(), packed_b, all.view());
    for (std::size_t first = 0, count = 1; first < kRows; first += count, count = std::min(count + 1, kRows - first)) {
      matmul(ConstMatrix(a.view()).row_range(first, count), packed_b, some.view().row_range(first, count));
    }
    EXPECT_EQ(worst_difference(some.view(), all.view()), 0.0);
  });
}

}  // namespace
}  // namespace semfuse
