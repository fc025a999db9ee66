#include "features/annotator.h"

#include <gtest/gtest.h>

namespace semfuse {
namespace {

TEST(Annotator, SaysOfEachWordWhatItIs) {
  const Lexicon first = Lexicon::parse("word\tclass\tpolarity\ngood\topinion\t0.5\nParis\tcity\n", "first");
  const Lexicon second = Lexicon::parse("word\tclass\tpolarity\theat\ngood\tother_opinion\t1\t0.25\n", "second");
  const Annotator annotator(Tagger::english(), {first, second});
  EXPECT_EQ(annotator.attribute_names(), (std::vector<std::string>{"polarity", "strength", "heat"}));
  const std::vector<AnnotatedWord> words = annotator.annotate("Good Paris. It works");
  ASSERT_EQ(words.size(), 5U);
  EXPECT_EQ(annotator.class_names()[words[0].lexicon_class], "opinion");
  EXPECT_EQ(words[0].attributes[0], 0.5f);
  EXPECT_EQ(words[0].attributes[2], 0.25f);
  EXPECT_TRUE(words[0].first);
  EXPECT_FALSE(words[1].first);
  EXPECT_EQ(annotator.class_names()[words[1].lexicon_class], "city");
  EXPECT_EQ(kUniversalTags[words[1].tag], "PROPN");
  EXPECT_TRUE(words[1].surface.capital);
  EXPECT_TRUE(words[2].surface.stop);
  EXPECT_TRUE(words[3].first);
  EXPECT_EQ(words[3].place.begin, 12U);
  EXPECT_EQ(words[4].lexicon_class, Lexicon::kOtherClass);
  EXPECT_EQ(words[4].attributes[0], 0.0f);
}

}  // namespace
}  // namespace semfuse
