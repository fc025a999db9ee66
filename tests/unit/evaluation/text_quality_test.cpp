#include "evaluation/text_quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;

TEST(TextQuality, WordsAndMarksAreCutApart) {
  EXPECT_THAT(words_of(" The soup, hot!"), ElementsAre("The", "soup", ",", "hot", "!"));
  EXPECT_THAT(words_of(""), ElementsAre());
}

TEST(TextQuality, DistinctSequencesAreCounted) {
  const std::vector<std::string> texts = {"a b a", "a b"};
  const std::array<double, 3> shares = distinct_sequences(texts);
  EXPECT_DOUBLE_EQ(shares[0], 2.0 / 5.0);
  EXPECT_DOUBLE_EQ(shares[1], 2.0 / 3.0);  // a b, b a, a b
  EXPECT_DOUBLE_EQ(shares[2], 1.0);
  EXPECT_DOUBLE_EQ(distinct_sequences(texts, 1)[0], 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(distinct_sequences({})[0], 0.0);
  EXPECT_DOUBLE_EQ(mean_length(texts), 2.5);
}

TEST(TextQuality, WhatTheModelKnowsIsFluent) {
  std::vector<std::string> texts;
  for (int i = 0; i < 50; ++i) {
    texts.push_back("the soup is hot .");
    texts.push_back("the room is cold .");
  }
  const FluencyModel model(texts);
  const std::vector<std::string> known = {"the soup is hot ."};
  const std::vector<std::string> mixed = {"hot the . is soup"};
  EXPECT_LT(model.perplexity(known), 1.5);
  EXPECT_GT(model.perplexity(mixed), 5.0 * model.perplexity(known));
  EXPECT_THROW(model.perplexity({}), Error);
}

}  // namespace
}  // namespace semfuse
