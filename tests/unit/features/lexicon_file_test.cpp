#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "semfuse/error.h"
#include "semfuse/lexicon.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string file_error_of(std::string_view text) {
  try {
    Lexicon::parse(text, "l.tsv");
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(LexiconFile, SaysWhatAWordIsLike) {
  const Lexicon lexicon =
      Lexicon::parse("word\tclass\tlike\nyum\tadjective\tgreat,  tasty \nnice\tadjective\t\n", "l.tsv");
  EXPECT_EQ(lexicon.find("yum")->like, (std::vector<std::string>{"great", "tasty"}));
  EXPECT_TRUE(lexicon.find("nice")->like.empty());
  for (const char* cell : {",", "great,", "very good", "a\x1b"}) {
    EXPECT_THAT(file_error_of(std::string("word\tclass\tlike\nyum\tadjective\t") + cell),
                StartsWith("l.tsv:2: like wants words"));
  }
}

TEST(LexiconFile, ReadsColumnsInAnyOrder) {
  const Lexicon lexicon = Lexicon::parse(
      "\xEF\xBB\xBF# "
      "words\nclass\tword\tstrength\tpolarity\r\n\r\nadjective\tsuperb\t\t0.5\r\nintensifier\tbarely\t0.1\n"
      "verb\tcaf\xC3\xA9\n",
      "l.tsv");
  EXPECT_EQ(lexicon.entries(), (std::vector<LexiconEntry>{{"superb", WordClass::kAdjective, 0.5, 0.0},
                                                          {"barely", WordClass::kIntensifier, 0.0, 0.1},
                                                          {"caf\xC3\xA9", WordClass::kVerb, 0.0, 0.0}}));
}

TEST(LexiconFile, ClassesMayBeTheUsersOwn) {
  const Lexicon lexicon = Lexicon::parse("word\tclass\tpolarity\nMonday\tweekday\t-0.5\nsoon\tadverb\n", "l.tsv");
  EXPECT_EQ(lexicon.entries(),
            (std::vector<LexiconEntry>{{"Monday", "weekday", -0.5, 0.0}, {"soon", "adverb", 0.0, 0.0}}));
}

TEST(LexiconFile, RefusesABadLineWithItsNumber) {
  const std::string heading = "word\tclass\tpolarity\tstrength\n";
  EXPECT_EQ(file_error_of(heading + "the\tother\n\nand\tother\nthe\tother\n"),
            "l.tsv:5: \"the\" appears twice (first at line 2); remove one");
  EXPECT_EQ(file_error_of(heading + "nice\tadjective\t2\n"),
            "l.tsv:2: the polarity of \"nice\" is 2; choose one in [-1, 1]");
  EXPECT_THAT(file_error_of(heading + "task\tobject\t1\n"),
              StartsWith("l.tsv:2: \"task\" has a polarity but is of class"));
  EXPECT_EQ(file_error_of(heading + "nice\tadjectiv\t1\n"),
            "l.tsv:2: unknown class \"adjectiv\"; did you mean \"adjective\"?");
  EXPECT_EQ(file_error_of(heading + "nice\tAdjective\t1\n"),
            "l.tsv:2: unknown class \"Adjective\"; did you mean \"adjective\"?");
  EXPECT_THAT(file_error_of(heading + "nice\tweek day\n"),
              StartsWith("l.tsv:2: \"week day\" is no name of a class (a-z, 0-9 and _); known ones are subject, "));
  EXPECT_THAT(file_error_of(heading + "nice\t\n"), StartsWith("l.tsv:2: \"\" is no name of a class"));
  EXPECT_EQ(Lexicon::parse(heading + "nice\tadjective\t+0.5\n", "l.tsv").find("nice")->polarity, 0.5);
  EXPECT_EQ(file_error_of(heading + "nice\tadjective\tbig\n"), "l.tsv:2: polarity wants a number, got \"big\"");
  EXPECT_THAT(file_error_of(heading + "nice\tadjective\tnan\n"), HasSubstr("wants a number"));
  EXPECT_THAT(file_error_of(heading + "nice\tadjective\t1e999\n"), HasSubstr("wants a number"));
  EXPECT_EQ(file_error_of(heading + "nice\tadjective\t1\t0\t0\n"),
            "l.tsv:2: has 5 cells, more than the 4 columns of the heading");
  EXPECT_THAT(file_error_of(heading + "nice adjective 1\n"),
              StartsWith("l.tsv:2: \"nice adjective 1\" is not one word"));
  EXPECT_THAT(file_error_of(heading + "nice\n"), StartsWith("l.tsv:2: lacks a word or its class"));
  EXPECT_THAT(file_error_of(heading + "\tverb\n"), StartsWith("l.tsv:2: \"\" is not one word"));
  EXPECT_THAT(file_error_of(heading + "<bos>\tother\n"), StartsWith("l.tsv:2: \"<bos>\" is not one word"));
  EXPECT_THAT(file_error_of(heading + "good!\tother\n"), StartsWith("l.tsv:2: \"good!\" is not one word"));
  EXPECT_THAT(file_error_of("word\tkind\n"), StartsWith("l.tsv:1: the heading lacks the column class"));
  EXPECT_THAT(file_error_of("word\tclass\tpolarty\n"), StartsWith("l.tsv:1: unknown column \"polarty\"; did you mean"));
  EXPECT_THAT(file_error_of("word\tclass\tHow warm\n"), StartsWith("l.tsv:1: \"How warm\" is no name of a column"));
  EXPECT_THAT(file_error_of("word\tclass\tword\n"), StartsWith("l.tsv:1: the column word appears twice"));
  EXPECT_THAT(file_error_of("word\tpolarity\n"), StartsWith("l.tsv:1: the heading lacks the column class"));
  for (const std::string& empty : {std::string(), std::string("# nothing\n"), heading}) {
    EXPECT_THAT(file_error_of(empty), StartsWith("l.tsv: holds no word")) << empty;
  }
}

TEST(LexiconFile, TheFileOfTheSyntheticCorpusIsTheOneInTheLibrary) {
  EXPECT_EQ(Lexicon::load(SEMFUSE_SOURCE_DIR "/lexicons/synthetic.tsv").entries(), synthetic_lexicon().entries());
  for (const std::string& word : synthetic_corpus_words()) EXPECT_NE(synthetic_lexicon().find(word), nullptr) << word;
  EXPECT_EQ(synthetic_lexicon().entries().size(), synthetic_corpus_words().size() + 1);
  EXPECT_THROW(Lexicon::load("/nowhere/lexicon.tsv"), Error);
}

}  // namespace
}  // namespace semfuse
