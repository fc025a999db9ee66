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

// The last word of a phrase has its attributes; nothing that came before changes, and no word is in two phrases.
TEST(Annotator, ReadsPhrasesOfLexiconsInOrder) {
  const Lexicon lexicon = Lexicon::parse(
      "word\tclass\tpolarity\tstrength\ngood\topinion\t0.5\t0.25\nnot_good\tphrase\t-0.75\ngood_food\tdish\t0.125\n"
      "is_not_good\tphrase\t-1\nn't_like\tphrase\t-0.5\n",
      "phrases");
  const Annotator annotator(nullptr, {lexicon});
  const auto polarities = [&](std::string_view text) {
    std::vector<float> values;
    for (const AnnotatedWord& word : annotator.annotate(text)) values.push_back(word.attributes[0]);
    return values;
  };
  using Values = std::vector<float>;
  EXPECT_EQ(polarities("It was Not good"), (Values{0, 0, 0, -0.75f}));
  EXPECT_EQ(polarities("not very good"), (Values{0, 0, 0.5f}));
  EXPECT_EQ(polarities("not. Good"), (Values{0, 0, 0.5f}));  // Of another sentence.
  EXPECT_EQ(polarities("not, good"), (Values{0, 0, 0.5f}));
  EXPECT_EQ(polarities("is not good"), (Values{0, 0, -1.0f}));  // The longest.
  EXPECT_EQ(polarities("good food"), (Values{0.5f, 0.125f}));
  EXPECT_EQ(polarities("not good food"), (Values{0, -0.75f, 0}));
  EXPECT_EQ(polarities("I didn't like"), (Values{0, 0, 0, -0.5f}));
  const std::vector<AnnotatedWord> words = annotator.annotate("not good good food");
  EXPECT_EQ(words[1].attributes[1], 0.25f);  // What the phrase does not say.
  EXPECT_EQ(annotator.class_names()[words[1].lexicon_class], "opinion");
  EXPECT_EQ(annotator.class_names()[words[3].lexicon_class], "dish");
}

}  // namespace
}  // namespace semfuse
