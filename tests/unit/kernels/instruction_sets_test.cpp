#include "support/instruction_sets.h"

#include <gtest/gtest.h>

#include <set>

#include "kernels/matmul.h"

namespace semfuse {
namespace {

TEST(InstructionSets, SwitchingReallySwitches) {
  // A packed column takes a whole panel, whose width is that of two vectors.
  std::set<std::size_t> widths;
  std::size_t sets = 0;
  for_each_instruction_set([&] {
    widths.insert(packed_size(1, 1));
    ++sets;
  });
  const std::int64_t supported = hwy::SupportedTargets();
  EXPECT_TRUE(widths.contains(32) || !(supported & HWY_AVX3));
  EXPECT_TRUE(widths.contains(16) || !(supported & HWY_AVX2));
  EXPECT_EQ(packed_size(1, 1), *widths.rbegin());  // Back to the best.
  RecordProperty("instruction_sets", static_cast<int>(sets));
}

}  // namespace
}  // namespace semfuse
