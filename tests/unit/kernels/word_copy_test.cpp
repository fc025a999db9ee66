#include "kernels/word_copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "support/instruction_sets.h"

namespace semfuse {
namespace {

// Of any length, wherever it begins, and nothing around it.
TEST(WordCopy, WritesAllWordsAndNoOthers) {
  for_each_instruction_set([] {
    std::vector<std::int32_t> from(200);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::int32_t>(i + 1);
    for (std::size_t count = 0; count < 150; ++count) {
      for (std::size_t begin = 1; begin < 20; begin += 3) {
        std::vector<std::int32_t> to(200, -1);
        copy_words(std::span<const std::int32_t>(from).subspan(begin / 2, count), std::span(to).subspan(begin, count));
        for (std::size_t i = 0; i < to.size(); ++i) {
          const bool inside = i >= begin && i < begin + count;
          ASSERT_EQ(to[i], inside ? from[i - begin + begin / 2] : -1) << count << " from " << begin << ", " << i;
        }
        clear_words(std::span(to).subspan(begin, count));
        for (std::size_t i = 0; i < to.size(); ++i) ASSERT_EQ(to[i], i >= begin && i < begin + count ? 0 : -1);
      }
    }
  });
}

}  // namespace
}  // namespace semfuse
