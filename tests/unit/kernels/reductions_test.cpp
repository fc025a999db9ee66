#include "kernels/reductions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/guarded_matrix.h"
#include "support/instruction_sets.h"

namespace semfuse {
namespace {

void check_column_sums(std::size_t rows, std::size_t cols, const Placement& placement) {
  GuardedMatrix x(rows, cols, placement);
  x.fill(SmallIntegers(rows));
  for_each_instruction_set([&] {
    GuardedMatrix sums(1, cols, {.misalignment = placement.misalignment});
    column_sums(x.view(), sums.data());
    const double worst = worst_difference(sums.view(), [&](std::size_t, std::size_t j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < rows; ++i) sum += static_cast<double>(x(i, j));
      return sum;
    });
    ASSERT_EQ(worst, 0.0) << rows << " x " << cols;
    ASSERT_TRUE(sums.guards_intact()) << rows << " x " << cols;
  });
}

TEST(ColumnSums, EqualAPlainLoopAtEverySize) {
  std::size_t turn = 0;
  for (const std::size_t rows : every_size()) {
    for (const std::size_t cols : every_size(35)) {
      check_column_sums(rows, cols, placements()[turn++ % placements().size()]);
      if (HasFatalFailure()) return;
    }
  }
  check_column_sums(1000, 300, {.gap = 3});
}

TEST(SumOfSquares, EqualsAPlainLoopAtEverySize) {
  for (const std::size_t size : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 4095, 4096, 4097, 8200}) {
    for (const std::size_t misalignment : {0, 1, 5}) {
      GuardedMatrix x(1, size, {.misalignment = misalignment, .open_end = true});
      x.fill(SmallIntegers(size));
      double expected = 0.0;
      for (std::size_t i = 0; i < size; ++i) expected += static_cast<double>(x(0, i)) * static_cast<double>(x(0, i));
      for_each_instruction_set([&] { ASSERT_EQ(sum_of_squares(x.data(), size), expected) << size; });
    }
  }
}

// A million equal numbers: a single float accumulator would stop growing.
TEST(SumOfSquares, StaysExactOverManyNumbers) {
  constexpr std::size_t kSize = 1 << 20;
  GuardedMatrix x(1, kSize);
  x.fill([](std::size_t, std::size_t) { return 0.1f; });
  const double square = static_cast<double>(0.1f) * static_cast<double>(0.1f);
  for_each_instruction_set([&] { EXPECT_NEAR(sum_of_squares(x.data(), kSize) / (square * kSize), 1.0, 1e-4); });
}

TEST(LargestWhere, EqualsAPlainLoopAtEverySize) {
  for (const std::size_t size : every_size(35)) {
    GuardedMatrix x(1, size, {.misalignment = 1, .open_end = true});
    GuardedMatrix gate(1, size, {.misalignment = 3, .open_end = true});
    x.fill(UniformNumbers(size));
    gate.fill(UniformNumbers(size + 1));
    for (const float sign : {1.0f, -1.0f}) {
      for (const float least : {-2.0f, 0.3f, 2.0f}) {
        float expected = -INFINITY;
        for (std::size_t i = 0; i < size; ++i) {
          if (gate(0, i) >= least) expected = std::max(expected, sign * x(0, i));
        }
        for_each_instruction_set(
            [&] { ASSERT_EQ(largest_where(x.data(), sign, gate.data(), least, size), expected) << size; });
      }
    }
  }
}

TEST(PlacesFrom, EqualsAPlainLoopAtEverySize) {
  for (const std::size_t size : every_size(35)) {
    GuardedMatrix x(1, size, {.misalignment = 1, .open_end = true});
    x.fill(UniformNumbers(size));
    for (const float least : {-2.0f, 0.3f, 2.0f}) {
      std::vector<std::int32_t> expected;
      for (std::size_t i = 0; i < size; ++i) {
        if (x(0, i) >= least) expected.push_back(static_cast<std::int32_t>(i));
      }
      for_each_instruction_set([&] {
        std::vector<std::int32_t> found(size + 16);
        found.resize(places_from(x.data(), least, size, found.data()));
        ASSERT_EQ(found, expected) << size;
      });
    }
  }
}

TEST(AddBelow, ChangesWhatIsLessAndNothingElse) {
  for (const std::size_t size : every_size(35)) {
    for_each_instruction_set([&] {
      GuardedMatrix x(1, size, {.misalignment = 1, .open_end = true});
      GuardedMatrix before(1, size, {.misalignment = 1, .open_end = true});
      x.fill(UniformNumbers(size));
      before.fill(UniformNumbers(size));
      add_below(x.data(), 0.3f, -2.0f, size);
      for (std::size_t i = 0; i < size; ++i) {
        const float was = before(0, i);
        ASSERT_EQ(x(0, i), was < 0.3f ? was - 2.0f : was) << size << " " << i;
      }
    });
  }
}

}  // namespace
}  // namespace semfuse
