#include "core/number_map.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(NumberMap, FindsWhatWasAdded) {
  NumberMap map;
  EXPECT_EQ(map.find(0), NumberMap::kAbsent);
  for (std::uint32_t i = 0; i < 1000; ++i) map.add(std::uint64_t{i} << 32, i);
  EXPECT_EQ(map.size(), 1000U);
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(map.find(std::uint64_t{i} << 32), i);
  EXPECT_EQ(map.find(1), NumberMap::kAbsent);
  map.clear();
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find(0), NumberMap::kAbsent);
}

}  // namespace
}  // namespace semfuse
