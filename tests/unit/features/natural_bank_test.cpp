#include "features/natural_bank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;

Lexicon small_lexicon() {
  return Lexicon::parse(
      "word\tclass\tpolarity\tstrength\tcolour\ngood\topinion\t0.6\nvery\tdegree\t\t1\nred\tpaint\t\t\t0.5\n",
      "lexicon");
}

NaturalBank small_bank(const std::string& text) {
  return NaturalBank(BankDeclaration::parse(text, "bank"), nullptr, {small_lexicon()});
}

// The first feature of the tokens, <bos> and <eos> left out.
std::vector<float> values(const NaturalBank& bank, const std::vector<TokenText>& tokens) {
  const FeatureMatrix matrix = bank.rows(tokens);
  std::vector<float> column;
  for (std::size_t t = 1; t + 1 < matrix.num_rows; ++t) column.push_back(matrix.row(t)[0]);
  return column;
}

std::vector<TokenText> whole(const std::vector<std::string_view>& words) {
  std::vector<TokenText> tokens;
  for (const std::string_view word : words) tokens.push_back({word, true});
  return tokens;
}

TEST(NaturalBank, TermsSayWhatIsTrueOfAWord) {
  const auto of = [](const char* text, const std::vector<std::string_view>& words) {
    return values(small_bank(text), whole(words));
  };
  EXPECT_THAT(of("a: words good", {"Good", "goods"}), ElementsAre(1, 0));
  EXPECT_THAT(of("a: words no_longer", {"no", "longer", "longer", "No", "longer"}), ElementsAre(0, 1, 0, 0, 1));
  EXPECT_THAT(of("a: ending ed", {"walkED", "ed", "edit"}), ElementsAre(1, 0, 0));
  EXPECT_THAT(of("a: is capital", {"A", "b", "1"}), ElementsAre(1, 0, 0));
  EXPECT_THAT(of("a: is upper", {"A", "AB", "Ab", "A1B"}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(of("a: is number", {"3.5", "a1", "1st"}), ElementsAre(1, 0, 0));
  EXPECT_THAT(of("a: is first", {"Hi", "you", ".", "Oh"}), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(of("a: is stop", {"Hi", ",", "...", "!"}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(of("a: class paint", {"red", "good"}), ElementsAre(1, 0));
  EXPECT_THAT(of("a: value of colour", {"red", "RED", "good"}), ElementsAre(0.5f, 0.5f, 0));
  EXPECT_THAT(of("a: value of -polarity", {"good"}), ElementsAre(0));
  EXPECT_THAT(of("a: medium of polarity", {"good", "red"}), ElementsAre(1, 0));
  EXPECT_THAT(of("a: around 0.6 width 0.1 of polarity", {"good"}), ElementsAre(1));
  EXPECT_THAT(of("a: not words good", {"good", "bad"}), ElementsAre(0, 1));
}

TEST(NaturalBank, TermsAreJoined) {
  const NaturalBank both = small_bank("a: is capital & ending s | words good");
  EXPECT_THAT(values(both, whole({"Cats", "cats", "Cat", "good"})), ElementsAre(1, 0, 0, 1));
  const NaturalBank graded = small_bank("a: value of polarity & value of polarity | value of colour");
  EXPECT_THAT(values(graded, whole({"good", "red"})), ElementsAre(0.6f, 0.5f));
}

TEST(NaturalBank, AfterLooksBackWithinASentence) {
  const NaturalBank one = small_bank("a: after words not");
  EXPECT_THAT(values(one, whole({"not", "so", "good"})), ElementsAre(0, 1, 0));
  const NaturalBank two = small_bank("a: after 2 words not");
  EXPECT_THAT(values(two, whole({"not", "so", "good", "not", ".", "Good"})), ElementsAre(0, 1, 1, 0, 1, 0));
}

TEST(NaturalBank, WordsWrittenAsOneAreOne) {
  const NaturalBank bank = small_bank("a: words do & words n't");
  EXPECT_THAT(values(bank, whole({"don't", "do", "n't"})), ElementsAre(1, 0, 0));
}

TEST(NaturalBank, PiecesDescribeTheLastCompleteWord) {
  const NaturalBank bank = small_bank("a: words good");
  // A dot may belong to the word before it ("thing.com"); what follows tells.
  EXPECT_THAT(values(bank, {{"a"}, {" go"}, {"od"}, {" th"}, {"ing"}, {"."}, {" "}}), ElementsAre(0, 0, 0, 1, 1, 1, 0));
  const NaturalBank begun = small_bank("a: begun capital");
  EXPECT_THAT(values(begun, {{"a"}, {" G"}, {"o"}, {" "}, {"x"}}), ElementsAre(0, 1, 1, 0, 0));
}

TEST(NaturalBank, TheBoundariesHaveRowsOfTheirOwn) {
  const NaturalBank bank = small_bank("start: is start\nend: is end\ngood: words good\n");
  const FeatureMatrix matrix = bank.rows(whole({"good"}));
  EXPECT_THAT(matrix.values, ElementsAre(1, 0, 0, 0, 0, 1, 0, 1, 0));
}

TEST(NaturalBank, WordRowsStandByThemselves) {
  const NaturalBank bank =
      small_bank("good: words good\nfirst: is first\nlong: words no_good\nafter: after words no\n");
  const std::vector<std::string> texts = {" good", "", "no good"};
  EXPECT_THAT(bank.word_rows(texts).values, ElementsAre(1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0));
}

TEST(NaturalBank, RefusesWhatNobodyKnows) {
  const auto expect_refused = [](const std::string& text, const std::string& what) {
    EXPECT_THAT([&] { small_bank(text); }, testing::ThrowsMessage<Error>(testing::HasSubstr(what)));
  };
  expect_refused("a: is capital\nb: tag NOUN", "bank:2: b: a tag needs a tagger");
  expect_refused("a: class pant", "no lexicon has the class \"pant\"; did you mean \"paint\"?");
  expect_refused("a: low of color", "no lexicon has the attribute \"color\"; did you mean \"colour\"?");
  EXPECT_THROW(NaturalBank(BankDeclaration::parse("a: is capital", "bank"), nullptr, {}, {.bandwidth = 0.0}), Error);
}

TEST(NaturalBank, EnglishReadsASentence) {
  const NaturalBank bank = NaturalBank::english();
  const std::vector<std::string_view> words = {"I", "didn't", "find", "it", "very", "good", ",", "did", "you", "?"};
  const FeatureMatrix matrix = bank.rows(whole(words));
  const auto rows_with = [&](std::string_view name) {
    const auto column = std::find(bank.names().begin(), bank.names().end(), name) - bank.names().begin();
    std::vector<std::string_view> found;
    for (std::size_t t = 0; t < words.size(); ++t) {
      if (matrix.row(t + 1)[column] > 0.5f) found.push_back(words[t]);
    }
    return found;
  };
  EXPECT_THAT(rows_with("pronoun"), ElementsAre("I", "it", "you"));
  EXPECT_THAT(rows_with("first_person"), ElementsAre("I"));
  EXPECT_THAT(rows_with("second_person"), ElementsAre("you"));
  EXPECT_THAT(rows_with("past"), ElementsAre("didn't", "did"));
  EXPECT_THAT(rows_with("negation"), ElementsAre("didn't"));
  EXPECT_THAT(rows_with("negated"), ElementsAre("find", "it", "very"));
  EXPECT_THAT(rows_with("pos_med"), ElementsAre("good"));
  EXPECT_THAT(rows_with("str_med"), ElementsAre("very", "good"));
  EXPECT_THAT(rows_with("sentence_end"), ElementsAre("?"));
  EXPECT_THAT(rows_with("question_mark"), ElementsAre("?"));
  EXPECT_THAT(rows_with("clause_end"), ElementsAre(","));
  for (const float value : matrix.values) {
    EXPECT_GE(value, 0.0f);
    EXPECT_LE(value, 1.0f);
  }
}

}  // namespace
}  // namespace semfuse
