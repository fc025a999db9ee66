#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/lexicon.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

std::string lexicon_error_of(std::vector<LexiconEntry> entries) {
  try {
    Lexicon lexicon(std::move(entries));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Lexicon, EveryLexiconHasTheKnownClasses) {
  const Lexicon lexicon({{.word = "blue"}});
  EXPECT_EQ(lexicon.class_names(), WordClass::known());
  EXPECT_EQ(lexicon.class_names()[Lexicon::kOtherClass], WordClass::kOther);
  EXPECT_TRUE(WordClass::is_known("intensifier"));
  EXPECT_FALSE(WordClass::is_known("adverb"));
}

TEST(Lexicon, HasClassesOfItsOwn) {
  const Lexicon lexicon({{.word = "Monday", .word_class = "weekday", .polarity = -0.5, .strength = 0.25},
                         {.word = "soon", .word_class = "adverb"},
                         {.word = "Friday", .word_class = "weekday", .polarity = 1.0}});
  EXPECT_EQ(lexicon.words("weekday"), (std::vector<std::string>{"Monday", "Friday"}));
  EXPECT_EQ(lexicon.words("weekday", +1), std::vector<std::string>{"Friday"});
  EXPECT_EQ(lexicon.class_names().size(), WordClass::known().size() + 2);
  EXPECT_EQ(lexicon.class_names()[lexicon.class_of("Friday")], "weekday");
  EXPECT_EQ(lexicon.class_of("Friday"), lexicon.class_of("Monday"));
  EXPECT_EQ(lexicon.class_names()[lexicon.class_of("soon")], "adverb");
  EXPECT_EQ(lexicon.class_of("zebra"), Lexicon::kOtherClass);
}

TEST(Lexicon, OfTheSyntheticCorpusKnowsEveryWord) {
  const Lexicon lexicon = synthetic_lexicon();
  for (const std::string& word : synthetic_corpus_words()) EXPECT_NE(lexicon.find(word), nullptr) << word;
  EXPECT_EQ(lexicon.entries().size(), 39u);  // the 38 words of the corpus and "they"
  EXPECT_EQ(*lexicon.find("Carol"), (LexiconEntry{"Carol", WordClass::kSubject, 0.0, 0.0}));
  EXPECT_EQ(*lexicon.find("they"), (LexiconEntry{"they", WordClass::kPronoun, 0.0, 0.0}));
  EXPECT_EQ(*lexicon.find("slightly"), (LexiconEntry{"slightly", WordClass::kIntensifier, 0.0, 0.2}));
  EXPECT_EQ(*lexicon.find("moderately"), (LexiconEntry{"moderately", WordClass::kIntensifier, 0.0, 0.5}));
  EXPECT_EQ(*lexicon.find("very"), (LexiconEntry{"very", WordClass::kIntensifier, 0.0, 0.8}));
  EXPECT_EQ(*lexicon.find("extremely"), (LexiconEntry{"extremely", WordClass::kIntensifier, 0.0, 1.0}));
  EXPECT_EQ(*lexicon.find("awful"), (LexiconEntry{"awful", WordClass::kAdjective, -1.0, 0.0}));
  EXPECT_EQ(*lexicon.find("?"), (LexiconEntry{"?", WordClass::kPunctuation, 0.0, 0.0}));
  EXPECT_EQ(lexicon.find("zebra"), nullptr);
}

TEST(Lexicon, ListsTheWordsOfAClass) {
  const Lexicon lexicon = synthetic_lexicon();
  const std::vector<std::string> positive = {"good", "great", "excellent", "pleasant", "wonderful"};
  const std::vector<std::string> negative = {"bad", "poor", "terrible", "unpleasant", "awful"};
  EXPECT_EQ(lexicon.words(WordClass::kAdjective, +1), positive);
  EXPECT_EQ(lexicon.words(WordClass::kAdjective, -1), negative);
  EXPECT_EQ(lexicon.words(WordClass::kAdjective).size(), 10u);
  EXPECT_EQ(lexicon.words(WordClass::kVerb, +1), std::vector<std::string>{});
}

TEST(Lexicon, RefusesMalformedEntries) {
  EXPECT_EQ(lexicon_error_of({{.word = ""}}), "lexicon: an entry has no word; give it one or remove it");
  EXPECT_EQ(lexicon_error_of({{.word = "a"}, {.word = "b"}, {.word = "a"}}),
            "lexicon: entry 3 \"a\" appears twice (first as entry 1); remove one");
  EXPECT_EQ(lexicon_error_of(std::vector<LexiconEntry>{{.word = "a", .word_class = "Week day"}}),
            "lexicon: the class of \"a\" is \"Week day\"; name it with a-z, 0-9 and _, at most 32");
  EXPECT_NE(lexicon_error_of(std::vector<LexiconEntry>{{.word = "a", .word_class = ""}}), "no error");
  EXPECT_NE(lexicon_error_of({{.word = "a", .word_class = "weekday", .polarity = -1.5}}), "no error");
  EXPECT_EQ(lexicon_error_of({{.word = "nice", .word_class = WordClass::kAdjective, .polarity = 1.5}}),
            "lexicon: the polarity of \"nice\" is 1.5; choose one in [-1, 1]");
  EXPECT_EQ(lexicon_error_of({{.word = "so", .word_class = WordClass::kIntensifier, .strength = -0.5}}),
            "lexicon: the strength of \"so\" is -0.5; choose one in [0, 1]");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(lexicon_error_of({{.word = "nice", .word_class = WordClass::kAdjective, .polarity = nan}}), "no error");
  EXPECT_NE(lexicon_error_of({{.word = "so", .word_class = WordClass::kIntensifier, .strength = nan}}), "no error");
  EXPECT_EQ(lexicon_error_of({{.word = "ruins", .word_class = WordClass::kVerb, .polarity = -1.0}}),
            "lexicon: \"ruins\" has a polarity but is of class verb; only an adjective has one");
  EXPECT_EQ(lexicon_error_of({{.word = "nice", .word_class = WordClass::kAdjective, .strength = 0.5}}),
            "lexicon: \"nice\" has a strength but is of class adjective; only an intensifier has one");
}

}  // namespace
}  // namespace semfuse
