#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/feature_bank.h"

namespace semfuse {
namespace {

std::string error_of(std::vector<LexiconEntry> entries) {
  try {
    Lexicon lexicon(std::move(entries));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WordClass, HasANameAndBack) {
  for (const WordClass word_class :
       {WordClass::subject, WordClass::pronoun, WordClass::verb, WordClass::object, WordClass::intensifier,
        WordClass::adjective, WordClass::punctuation, WordClass::other}) {
    EXPECT_EQ(word_class_from_string(to_string(word_class)), word_class);
  }
  EXPECT_EQ(to_string(WordClass::intensifier), "intensifier");
  EXPECT_EQ(word_class_from_string("adverb"), std::nullopt);
}

TEST(Lexicon, OfTheSyntheticCorpusKnowsEveryWord) {
  const Lexicon lexicon = Lexicon::synthetic();
  for (const std::string& word : synthetic_corpus_words()) EXPECT_NE(lexicon.find(word), nullptr) << word;
  EXPECT_EQ(lexicon.entries().size(), 39u);  // the 38 words of the corpus and "they"
  EXPECT_EQ(*lexicon.find("Carol"), (LexiconEntry{"Carol", WordClass::subject, 0.0, 0.0}));
  EXPECT_EQ(*lexicon.find("they"), (LexiconEntry{"they", WordClass::pronoun, 0.0, 0.0}));
  EXPECT_EQ(*lexicon.find("slightly"), (LexiconEntry{"slightly", WordClass::intensifier, 0.0, 0.2}));
  EXPECT_EQ(*lexicon.find("moderately"), (LexiconEntry{"moderately", WordClass::intensifier, 0.0, 0.5}));
  EXPECT_EQ(*lexicon.find("very"), (LexiconEntry{"very", WordClass::intensifier, 0.0, 0.8}));
  EXPECT_EQ(*lexicon.find("extremely"), (LexiconEntry{"extremely", WordClass::intensifier, 0.0, 1.0}));
  EXPECT_EQ(*lexicon.find("awful"), (LexiconEntry{"awful", WordClass::adjective, -1.0, 0.0}));
  EXPECT_EQ(*lexicon.find("?"), (LexiconEntry{"?", WordClass::punctuation, 0.0, 0.0}));
  EXPECT_EQ(lexicon.find("zebra"), nullptr);
}

TEST(Lexicon, ListsTheWordsOfAClass) {
  const Lexicon lexicon = Lexicon::synthetic();
  const std::vector<std::string> positive = {"good", "great", "excellent", "pleasant", "wonderful"};
  const std::vector<std::string> negative = {"bad", "poor", "terrible", "unpleasant", "awful"};
  EXPECT_EQ(lexicon.words(WordClass::adjective, +1), positive);
  EXPECT_EQ(lexicon.words(WordClass::adjective, -1), negative);
  EXPECT_EQ(lexicon.words(WordClass::adjective).size(), 10u);
  EXPECT_EQ(lexicon.words(WordClass::verb, +1), std::vector<std::string>{});
}

TEST(Lexicon, RefusesMalformedEntries) {
  EXPECT_EQ(error_of({{.word = ""}}), "lexicon: an entry has no word; give it one or remove it");
  EXPECT_EQ(error_of({{.word = "a"}, {.word = "b"}, {.word = "a"}}),
            "lexicon: entry 3 \"a\" appears twice (first as entry 1); remove one");
  EXPECT_EQ(error_of({{.word = "nice", .word_class = WordClass::adjective, .polarity = 1.5}}),
            "lexicon: the polarity of \"nice\" is 1.5; choose one in [-1, 1]");
  EXPECT_EQ(error_of({{.word = "so", .word_class = WordClass::intensifier, .strength = -0.5}}),
            "lexicon: the strength of \"so\" is -0.5; choose one in [0, 1]");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(error_of({{.word = "nice", .word_class = WordClass::adjective, .polarity = nan}}), "no error");
  EXPECT_NE(error_of({{.word = "so", .word_class = WordClass::intensifier, .strength = nan}}), "no error");
  EXPECT_EQ(error_of({{.word = "ruins", .word_class = WordClass::verb, .polarity = -1.0}}),
            "lexicon: \"ruins\" has a polarity but is of class verb; only an adjective has one");
  EXPECT_EQ(error_of({{.word = "nice", .word_class = WordClass::adjective, .strength = 0.5}}),
            "lexicon: \"nice\" has a strength but is of class adjective; only an intensifier has one");
}

}  // namespace
}  // namespace semfuse
