#include "core/huge_pages.h"

#include <gtest/gtest.h>

#include <vector>

namespace semfuse {
namespace {

struct alignas(64) Line {
  char bytes[64];
};

TEST(HugePages, SmallAndLargeTablesAreAlignedForTheirEntries) {
  std::vector<std::vector<Line, HugePageAllocator<Line>>> tables;
  for (const std::size_t size : {1, 2, 3, 5, 100, 40'000}) {
    tables.emplace_back(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tables.back().data()) % alignof(Line), 0U) << size;
  }
}

}  // namespace
}  // namespace semfuse
