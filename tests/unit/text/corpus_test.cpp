#include "semfuse/corpus.h"
#include "semfuse/synthetic_corpus.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(SplitWords, SetsMarksApart) {
  EXPECT_EQ(split_words("the paper, very good!"), (Sentence{"the", "paper", ",", "very", "good", "!"}));
  EXPECT_EQ(split_words("what?!..."), (Sentence{"what", "?", "!", ".", ".", "."}));
  EXPECT_EQ(split_words("a,b"), (Sentence{"a", ",", "b"}));
}

TEST(SplitWords, IgnoresSpacesAroundWords) {
  EXPECT_EQ(split_words("  Alice \t reviews\r\n the\n"), (Sentence{"Alice", "reviews", "the"}));
  EXPECT_EQ(split_words(""), Sentence{});
  EXPECT_EQ(split_words(" \t "), Sentence{});
}

TEST(SplitWords, KeepsOtherBytesInsideWords) {
  EXPECT_EQ(split_words("caf\xC3\xA9 it's <eos>"), (Sentence{"caf\xC3\xA9", "it's", "<eos>"}));
}

TEST(JoinWords, PutsNoSpaceBeforeAMark) {
  EXPECT_EQ(join_words({"Alice", "reviews", "the", "paper", ",", "very", "good", "!"}),
            "Alice reviews the paper, very good!");
  EXPECT_EQ(join_words({}), "");
  EXPECT_EQ(join_words({"!", "good"}), "! good");
}

TEST(JoinWords, IsTheInverseOfSplitWords) {
  const std::string text = "Bob cooks the meal, slightly bad but he starts the task, extremely pleasant?";
  EXPECT_EQ(join_words(split_words(text)), text);
  SyntheticCorpusOptions options;
  options.train = 200;
  options.val = 0;
  for (const Sentence& sentence : make_synthetic_corpus(options).train) {
    EXPECT_EQ(split_words(join_words(sentence)), sentence);
  }
}

}  // namespace
}  // namespace semfuse
