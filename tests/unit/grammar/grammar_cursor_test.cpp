#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "semfuse/class_words.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Grammar parse(std::string_view gbnf) {
  return Grammar::parse(gbnf, "g", words_of(synthetic_lexicon()));
}

Vocabulary paper_vocabulary() {
  return Vocabulary::from_words(synthetic_corpus_words());
}

std::vector<std::string> allowed_words(GrammarCursor& cursor, const Vocabulary& vocabulary) {
  std::vector<std::string> words;
  for (const TokenId id : cursor.allowed().ids()) words.push_back(vocabulary.word(id));
  return words;
}

TEST(TokenSet, HoldsIds) {
  TokenSet set(130);
  for (const TokenId id : {0, 63, 64, 129}) set.insert(id);
  EXPECT_EQ(set.count(), 4u);
  EXPECT_THAT(set.ids(), ElementsAre(0, 63, 64, 129));
  EXPECT_TRUE(set.contains(129));
  EXPECT_FALSE(set.contains(128));
  TokenSet other(130);
  other.insert(1);
  other.unite(set);
  EXPECT_THAT(other.ids(), ElementsAre(0, 1, 63, 64, 129));
}

TEST(TokenSurfaces, AreWhatJoiningAdds) {
  const Vocabulary vocabulary = Vocabulary::from_words({"paper", ",", "!", "..."});
  const TokenSurfaces surfaces = TokenSurfaces::of(vocabulary);
  EXPECT_THAT(surfaces.first, ElementsAre("", "", "", "!", ",", "...", "paper"));
  EXPECT_THAT(surfaces.later, ElementsAre("", "", "", "!", ",", " ...", " paper"));
  EXPECT_EQ(surfaces.end, Vocabulary::kEos);
}

TEST(GrammarCursor, FollowsASentence) {
  const Vocabulary vocabulary = paper_vocabulary();
  const Grammar grammar =
      Grammar::load(std::string(SEMFUSE_SOURCE_DIR) + "/grammars/two-clause.gbnf", words_of(synthetic_lexicon()));
  const CompiledGrammar compiled(grammar, TokenSurfaces::of(vocabulary));
  GrammarCursor cursor = compiled.begin();
  EXPECT_THAT(allowed_words(cursor, vocabulary), ElementsAre("Alice", "Bob", "Carol", "Dave", "Eve"));
  const auto say = [&](std::string_view word) { return cursor.advance(*vocabulary.find(word)); };
  EXPECT_FALSE(say("paper"));
  EXPECT_FALSE(cursor.advance(Vocabulary::kPad));
  EXPECT_FALSE(cursor.advance(Vocabulary::kEos));
  EXPECT_FALSE(cursor.advance(-1));
  EXPECT_FALSE(cursor.advance(1000));
  EXPECT_TRUE(say("Bob"));
  EXPECT_TRUE(say("trains"));
  EXPECT_EQ(cursor.forced(), vocabulary.find("the"));
  EXPECT_TRUE(say("the"));
  EXPECT_EQ(cursor.forced(), std::nullopt);
  for (const char* word : {"model", ",", "very", "good"}) EXPECT_TRUE(say(word)) << word;
  EXPECT_THAT(cursor.expected(), ElementsAre("!", ".", "?", "and", "but"));
  EXPECT_THAT(cursor.expected(2), ElementsAre("!", ".", "..."));
  EXPECT_TRUE(say("but"));
  EXPECT_EQ(cursor.forced(), vocabulary.find("he"));
  for (const char* word : {"he", "cooks", "the", "meal", ",", "slightly", "bad"}) EXPECT_TRUE(say(word)) << word;
  EXPECT_FALSE(say("and"));
  EXPECT_FALSE(cursor.can_end());
  EXPECT_TRUE(say("!"));
  EXPECT_TRUE(cursor.can_end());
  EXPECT_THAT(cursor.expected(), ElementsAre("end of text"));
  EXPECT_EQ(cursor.forced(), Vocabulary::kEos);
  EXPECT_TRUE(cursor.advance(Vocabulary::kEos));
  EXPECT_TRUE(cursor.ended());
  EXPECT_FALSE(cursor.can_end());
  EXPECT_EQ(cursor.allowed().count(), 0u);
  EXPECT_FALSE(cursor.advance(Vocabulary::kEos));
}

TEST(GrammarCursor, CopiesGoTheirOwnWay) {
  const Vocabulary vocabulary = Vocabulary::from_words({"a", "(", ")"});
  const CompiledGrammar compiled(parse("root ::= \"a\" | \"(\" \" \" root \" )\""), TokenSurfaces::of(vocabulary));
  GrammarCursor cursor = compiled.begin();
  ASSERT_TRUE(cursor.advance(*vocabulary.find("(")));
  GrammarCursor copy = cursor;
  ASSERT_TRUE(copy.advance(*vocabulary.find("a")));
  EXPECT_THAT(allowed_words(copy, vocabulary), ElementsAre(")"));
  EXPECT_THAT(allowed_words(cursor, vocabulary), ElementsAre("(", "a"));
  cursor = copy;
  EXPECT_THAT(allowed_words(cursor, vocabulary), ElementsAre(")"));
  GrammarCursor moved = std::move(copy);
  EXPECT_THAT(allowed_words(moved, vocabulary), ElementsAre(")"));
}

// Of a large vocabulary, where masks of few tokens are kept otherwise than those of many.
TEST(GrammarCursor, MasksOfFewAndOfManyTokensAreTheSameInEveryForm) {
  TokenSurfaces surfaces{.first = {"", "a", "b"}, .end = 0};
  for (int number = 0; number < 10'000; ++number) surfaces.first.push_back(std::to_string(number));
  surfaces.later = surfaces.first;
  const GrammarVocabulary vocabulary(surfaces);
  for (const std::string digits : {"{1,2}", "*"}) {
    const CompiledGrammar compiled(parse("root ::= \"a\" [0-9]" + digits + " \"b\""), vocabulary);
    GrammarCursor cursor = compiled.begin();
    ASSERT_TRUE(cursor.advance(1));
    GrammarCursor other = cursor;
    std::vector<std::int32_t> words((vocabulary.size() + 31) / 32, -1);
    other.fill(words);
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      const std::string& surface = surfaces.later[id];
      const bool expected = surface == "b" ? digits == "*" : id > 2 && (digits == "*" || surface.size() <= 2);
      ASSERT_EQ(cursor.allowed().contains(static_cast<TokenId>(id)), expected) << digits << " " << surface;
      ASSERT_EQ((words[id / 32] >> (id % 32) & 1) != 0, expected) << digits << " " << surface;
    }
    EXPECT_EQ(cursor.forced(), std::nullopt);
    ASSERT_TRUE(cursor.advance(3 + 42));
    EXPECT_EQ(cursor.forced() == TokenId{2}, digits != "*");
    EXPECT_EQ(cursor.allowed().contains(3), digits == "*");
    EXPECT_TRUE(other.allowed().contains(3));
  }
}

// Masks of few and of many tokens in turns, and several tokens with the same string.
TEST(GrammarCursor, AMaskHasNothingOfTheOneBefore) {
  TokenSurfaces surfaces{.first = {"", "a", "b", "a", "ab", "ab", "a1", "a1"}, .end = 0};
  for (int number = 0; number < 10'000; ++number) surfaces.first.push_back(std::to_string(number));
  surfaces.later = surfaces.first;
  const GrammarVocabulary vocabulary(surfaces);
  const CompiledGrammar compiled(parse("root ::= \"a\" (\"ab\" | [0-9]{1,2} | [0-9]{4} \"a\" | [0-9]* \"b\" root)*"),
                                 vocabulary);
  GrammarCursor cursor = compiled.begin();
  for (const char* token : {"a", "ab", "77", "b", "a", "1234", "a", "7", "ab", "9999", "b", "a", "1234", "a1", "b"}) {
    const auto found = std::find(surfaces.later.begin(), surfaces.later.end(), token);
    for (std::size_t id = 0; id < vocabulary.size(); ++id) {
      GrammarCursor copy = cursor;
      ASSERT_EQ(cursor.allowed().contains(static_cast<TokenId>(id)), copy.advance(static_cast<TokenId>(id)))
          << "before " << token << ": " << surfaces.later[id];
    }
    ASSERT_TRUE(cursor.advance(static_cast<TokenId>(found - surfaces.later.begin()))) << token;
  }
}

// Only tokens that lead to an end are offered: "b" goes on with "x", which no token spells.
TEST(GrammarCursor, AvoidsDeadEnds) {
  const Vocabulary vocabulary = Vocabulary::from_words({"a", "b", "c"});
  for (const char* gbnf :
       {"root ::= \"a\" ( \" b\" \" x\" | \" c\")", "root ::= \"a\" ( \" b\" root \" x\" | \" c\")"}) {
    const CompiledGrammar compiled(parse(gbnf), TokenSurfaces::of(vocabulary));
    GrammarCursor cursor = compiled.begin();
    ASSERT_TRUE(cursor.advance(*vocabulary.find("a")));
    EXPECT_THAT(allowed_words(cursor, vocabulary), ElementsAre("c")) << gbnf;
    EXPECT_FALSE(cursor.advance(*vocabulary.find("b")));
    EXPECT_TRUE(cursor.advance(*vocabulary.find("c")));
  }
}

TEST(CompiledGrammar, RefusesAVocabularyThatCannotComplete) {
  const Vocabulary vocabulary = Vocabulary::from_words({"Alice", "reviews"});
  try {
    const CompiledGrammar compiled(parse("root ::= \"Alice reviews the paper\" "), TokenSurfaces::of(vocabulary));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("after \"Alice reviews\" no token continues with \" the\""));
  }
  EXPECT_THROW(CompiledGrammar(parse("root ::= \"x\" root \"y\" | \"z\""), TokenSurfaces::of(vocabulary)), Error);
  EXPECT_THROW(CompiledGrammar(parse("root ::= \"a\""), TokenSurfaces{.first = {"a"}, .later = {"a", "b"}}), Error);
  EXPECT_THROW(CompiledGrammar(parse("root ::= \"a\""), TokenSurfaces{.first = {"a"}, .later = {"a"}, .end = 1}),
               Error);
  EXPECT_THROW(CompiledGrammar(parse("root ::= \"a\""), TokenSurfaces{.first = {"a"}, .later = {"a"}, .end = 0}),
               Error);
}

TEST(CompiledGrammar, AnEmptyTextMayBeASentence) {
  const Vocabulary vocabulary = Vocabulary::from_words({"b"});
  const CompiledGrammar compiled(parse("root ::= \"a\"*"), TokenSurfaces::of(vocabulary));
  GrammarCursor cursor = compiled.begin();
  EXPECT_TRUE(cursor.can_end());
  EXPECT_EQ(cursor.forced(), Vocabulary::kEos);
}

}  // namespace
}  // namespace semfuse
