#include "core/workspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace semfuse {
namespace {

bool aligned(const float* p) {
  return std::bit_cast<std::uintptr_t>(p) % 64 == 0;
}

TEST(AlignedFloats, AreAlignedAndZero) {
  for (const std::size_t size : {0, 1, 15, 16, 17, 1000, 1 << 20}) {
    const AlignedFloats numbers(size);
    EXPECT_EQ(numbers.size(), size);
    EXPECT_TRUE(aligned(numbers.data()));
    EXPECT_TRUE(std::all_of(numbers.data(), numbers.data() + size, [](float x) { return x == 0.0f; }));
  }
}

TEST(AlignedFloats, CopiesAreDeepAndMovesAreNot) {
  AlignedFloats a(20);
  for (std::size_t i = 0; i < 20; ++i) a.data()[i] = static_cast<float>(i);
  AlignedFloats b(a);
  AlignedFloats c;
  c = a;
  a.data()[3] = -1.0f;
  EXPECT_EQ(b.data()[3], 3.0f);
  EXPECT_EQ(c.data()[19], 19.0f);
  const float* place = b.data();
  const AlignedFloats d(std::move(b));
  EXPECT_EQ(d.data(), place);
  const AlignedFloats& same = c;
  c = same;
  EXPECT_EQ(c.data()[19], 19.0f);
}

TEST(AlignedFloats, RefuseImpossibleSizes) {
  EXPECT_THROW(AlignedFloats(std::numeric_limits<std::size_t>::max()), std::bad_alloc);
  EXPECT_THROW(AlignedFloats(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
}

TEST(Workspace, RowsAreAlignedAndNoStrideIsAMultipleOfTwoKiB) {
  Workspace workspace;
  for (std::size_t cols = 1; cols <= 2100; cols += cols < 40 ? 1 : 13) {
    const Matrix m = workspace.matrix(3, cols);
    EXPECT_EQ(m.rows(), 3u);
    EXPECT_EQ(m.cols(), cols);
    EXPECT_GE(m.stride(), cols);
    EXPECT_TRUE(aligned(m.row(0)) && aligned(m.row(1)) && aligned(m.row(2)));
    EXPECT_NE(m.stride() * sizeof(float) % 2048, 0u) << cols << " columns";
  }
  for (const std::size_t cols : {512, 1024, 1536, 2048}) {
    EXPECT_NE(workspace.matrix(1, cols).stride() * sizeof(float) % 2048, 0u) << cols << " columns";
  }
}

TEST(Workspace, HandsOutDisjointMemory) {
  Workspace workspace;
  std::vector<std::pair<float*, std::size_t>> parts;
  for (int round = 0; round < 3; ++round) {
    parts.clear();
    for (std::size_t i = 0; i < 60; ++i) {
      const std::size_t count = i * i * 31 + i;  // In the end beyond the first block.
      parts.emplace_back(workspace.floats(count), count);
      std::fill_n(parts.back().first, count, static_cast<float>(i));
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [p, count] = parts[i];
      EXPECT_TRUE(aligned(p));
      EXPECT_TRUE(std::all_of(p, p + count, [&](float x) { return x == static_cast<float>(i); })) << "part " << i;
    }
    workspace.reset();
  }
}

TEST(Workspace, ReusesItsMemoryAfterReset) {
  Workspace workspace;
  // Three blocks in the first round; one block of the same size from then on.
  const auto round = [&] {
    const float* first = workspace.floats(300000);
    workspace.floats(200000);
    workspace.floats(300000);
    return first;
  };
  round();
  workspace.reset();
  const float* second = round();
  workspace.reset();
  EXPECT_EQ(round(), second);
}

TEST(Workspace, ReportsThePeakBetweenResets) {
  Workspace workspace;
  EXPECT_EQ(workspace.peak_bytes(), 0u);
  workspace.floats(100);  // 112 with the line filled up
  workspace.floats(16);
  EXPECT_EQ(workspace.peak_bytes(), 128 * sizeof(float));
  workspace.reset();
  workspace.floats(64);
  EXPECT_EQ(workspace.peak_bytes(), 128 * sizeof(float));
  workspace.floats(80);
  EXPECT_EQ(workspace.peak_bytes(), 144 * sizeof(float));
}

}  // namespace
}  // namespace semfuse
