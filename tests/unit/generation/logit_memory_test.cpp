#include "generation/logit_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Text = std::vector<TokenId>;
using Logits = std::vector<float>;

TEST(LogitMemory, RecallsWhatFollowedTheSameLastWords) {
  LogitMemory memory(2);
  EXPECT_THAT(memory.recall(Text{1}), IsEmpty());
  memory.store(Text{1, 7, 8, 9, 5}, Logits{0.5f, 1.5f});
  EXPECT_THAT(memory.recall(Text{7, 8, 9, 5}), ElementsAre(0.5f, 1.5f));
  EXPECT_THAT(memory.recall(Text{2, 7, 8, 9, 5}), ElementsAre(0.5f, 1.5f));
  EXPECT_THAT(memory.recall(Text{1, 7, 8, 9, 6}), IsEmpty());
}

TEST(LogitMemory, TheLongestEndCounts) {
  LogitMemory memory(1);
  memory.store(Text{1, 2, 3, 5}, Logits{1.0f});
  memory.store(Text{4, 4, 4, 5}, Logits{2.0f});
  EXPECT_THAT(memory.recall(Text{1, 2, 3, 5}), ElementsAre(1.0f));
  EXPECT_THAT(memory.recall(Text{9, 9, 9, 5}), ElementsAre(2.0f));  // The last that followed 5.
  EXPECT_THAT(memory.recall(Text{5}), ElementsAre(2.0f));
}

TEST(LogitMemory, OverwritesWhatIsInTheWay) {
  LogitMemory memory(1000);
  for (TokenId word = 0; word < 5000; ++word) memory.store(Text{word, word}, Logits(1000, 1.0f));
  EXPECT_THAT(memory.recall(Text{4999, 4999}).size(), 1000u);
}

}  // namespace
}  // namespace semfuse
