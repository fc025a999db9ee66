#include "semfuse/tokenizer_trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "semfuse/error.h"
#include "text/word_counts.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tokenizer trained(const std::vector<std::string>& texts, TokenizerKind kind, std::size_t more) {
  TokenizerTrainer trainer;
  for (const std::string& text : texts) trainer.add(text);
  return trainer.make(kind, Tokenizer::kSmallestSize + more);
}

// What follows the bytes.
std::vector<std::string> entries(const Tokenizer& tokenizer) {
  return {tokenizer.surfaces().begin() + Tokenizer::kSmallestSize, tokenizer.surfaces().end()};
}

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  std::uint32_t end = 0;
  for (const Token& token : tokenizer.encode(text)) {
    EXPECT_EQ(token.begin, end);
    end = token.end;
    pieces.emplace_back(text.substr(token.begin, token.end - token.begin));
    EXPECT_EQ(pieces.back(), tokenizer.surfaces()[static_cast<std::size_t>(token.id)]);
  }
  EXPECT_EQ(end, text.size());
  return pieces;
}

TEST(WordTokenizer, HasTheMostFrequentWords) {
  const std::vector<std::string> texts = {"so good so good", "it is so, so bad", "it is bad", "once!"};
  const Tokenizer tokenizer = trained(texts, TokenizerKind::words, 100);
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::words);
  EXPECT_THAT(entries(tokenizer), ElementsAre(" so", " bad", " good", " is", "it"));
  EXPECT_THAT(entries(trained(texts, TokenizerKind::words, 2)), ElementsAre(" so", " bad"));
  EXPECT_THAT(pieces_of(tokenizer, "it is so, not"), ElementsAre("it", " is", " so", ",", " ", "n", "o", "t"));
}

TEST(WordTokenizer, WithALeadingBlankAWordIsOneTokenWhereverItStands) {
  TokenizerTrainer trainer(TokenizerTrainer::kMostWords, /*leading_blank=*/true);
  for (const char* text : {"so good so good", "it is so, so bad", "it is bad", "once!"}) trainer.add(text);
  const Tokenizer tokenizer = trainer.make(TokenizerKind::words, Tokenizer::kSmallestSize + 100);
  EXPECT_THAT(entries(tokenizer), ElementsAre(" so", " bad", " good", " is", " it"));
  EXPECT_EQ(tokenizer.encode("so so").front().id, tokenizer.encode("so so").back().id);
  EXPECT_EQ(tokenizer.encode("so").front(), (Token{.id = Tokenizer::kSmallestSize, .begin = 0, .end = 2}));
  EXPECT_TRUE(tokenizer.encode("").empty());
  // What has no entry is spelled, the blank too.
  const std::vector<Token> spelled = tokenizer.encode("no");
  ASSERT_EQ(spelled.size(), 3U);
  EXPECT_EQ(spelled[0], (Token{.id = Tokenizer::kFirstByte + ' ', .begin = 0, .end = 0}));
  for (const char* text : {"so", " so", "  so", "no", " ", "", "\n"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
  EXPECT_FALSE(trained({}, TokenizerKind::words, 100).leading_blank());
  EXPECT_FALSE(trainer.make(TokenizerKind::bytes, Tokenizer::kSmallestSize).leading_blank());
}

TEST(PieceTokenizer, JoinsTheMostFrequentPairs) {
  // "lo" 4 times, then "low" 3; " lo" and "er" twice each, of which " lo" has the smaller ids.
  const Tokenizer tokenizer = trained({"low low", "lower", "log er"}, TokenizerKind::pieces, 100);
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::pieces);
  EXPECT_THAT(entries(tokenizer), ElementsAre("lo", "low", "er"));
  EXPECT_THAT(pieces_of(tokenizer, "lower slow"), ElementsAre("low", "er", " ", "s", "low"));
  EXPECT_THAT(entries(trained({"low low", "lower", "log er"}, TokenizerKind::pieces, 1)), ElementsAre("lo"));
}

TEST(PieceTokenizer, MergesTheSamePairFromTheLeft) {
  const Tokenizer tokenizer = trained({"aaaa", "aaaa", "aaa"}, TokenizerKind::pieces, 1);
  EXPECT_THAT(entries(tokenizer), ElementsAre("aa"));
  EXPECT_THAT(pieces_of(tokenizer, "aaaaa"), ElementsAre("aa", "aa", "a"));
}

TEST(PieceTokenizer, OfNothingIsBytes) {
  EXPECT_EQ(trained({}, TokenizerKind::pieces, 100).kind(), TokenizerKind::bytes);
  EXPECT_EQ(trained({"abc"}, TokenizerKind::pieces, 100).size(), Tokenizer::kSmallestSize);
  EXPECT_EQ(trained({}, TokenizerKind::words, 100).kind(), TokenizerKind::words);
  EXPECT_EQ(trained({"a a a"}, TokenizerKind::bytes, 100).to_json(), Tokenizer::bytes().to_json());
}

TEST(TokenizerTrainer, TakesTextsInAnyOrderAndInParts) {
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces}) {
    const Tokenizer whole = trained({"the cat sat", "the mat the cat", "a mat"}, kind, 50);
    EXPECT_EQ(trained({"a mat", "the mat the cat", "the cat sat"}, kind, 50).to_json(), whole.to_json());
    TokenizerTrainer first;
    first.add("a mat");
    TokenizerTrainer second;
    second.add("the mat the cat");
    second.add("the cat sat");
    first.add(second);
    EXPECT_EQ(first.make(kind, Tokenizer::kSmallestSize + 50).to_json(), whole.to_json());
  }
}

TEST(TokenizerTrainer, PassesOverWordsThatAreNone) {
  const std::string endless(100'000, 'a');
  EXPECT_THAT(entries(trained({endless, endless, "ok", "ok"}, TokenizerKind::pieces, 10)), ElementsAre("ok"));
}

TEST(TokenizerTrainer, RefusesSizesThatCannotBe) {
  for (const std::size_t size : {std::size_t{0}, Tokenizer::kSmallestSize - 1, std::size_t{1} << 40}) {
    for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes}) {
      EXPECT_THROW(TokenizerTrainer().make(kind, size), Error);
    }
  }
}

TEST(WordCounts, ForgetsTheRarest) {
  WordCounts counts(6);
  for (int i = 0; i < 3; ++i) {
    counts.add("often");
    counts.add("also");
  }
  for (const char* word : {"a", "b", "c", "d", "e"}) counts.add(word);  // One too many.
  EXPECT_EQ(counts.words().size(), 2U);
  counts.add("b", 9);
  const std::vector<const CountedWord*> sorted = counts.sorted();
  ASSERT_EQ(sorted.size(), 3U);
  EXPECT_EQ(sorted[0]->word, "b");
  EXPECT_EQ(sorted[0]->count, 9U);
  EXPECT_EQ(sorted[1]->word, "also");
}

TEST(TokenizerFile, OfWordsAndPiecesGoesThereAndBack) {
  const std::vector<std::string> texts = {"caf\u00E9 \xFF\xFE caf\u00E9 \xFF\xFE\x1b[31m", "\n\n\n\n"};
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces}) {
    const Tokenizer tokenizer = trained(texts, kind, 50);
    const std::string json = tokenizer.to_json();
    EXPECT_EQ(json.find('\x1b'), json.npos);
    const Tokenizer back = Tokenizer::parse(json, "f");
    EXPECT_EQ(back.kind(), kind);
    EXPECT_EQ(back.surfaces(), tokenizer.surfaces());
    EXPECT_EQ(back.to_json(), json);
    for (const std::string& text : texts) EXPECT_EQ(back.encode(text), tokenizer.encode(text));
    EXPECT_EQ(tokenizer.vocabulary().size(), tokenizer.size());
  }
}

std::string trainer_error_of(std::string json, std::string_view from, std::string_view to) {
  const std::size_t at = json.rfind(from);
  EXPECT_NE(at, json.npos) << from;
  try {
    Tokenizer::parse(json.replace(at, from.size(), to), "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenizerFile, SaysWhichMergeOrWordIsWrong) {
  const std::string pieces = trained({"low low", "lower", "log er"}, TokenizerKind::pieces, 100).to_json();
  EXPECT_THAT(trainer_error_of(pieces, "[\"e\", \"r\"]", "[\"e\", \"s\"]"),
              HasSubstr("merge 2 has \"es\", which is no entry"));
  EXPECT_THAT(trainer_error_of(pieces, "[\"e\", \"r\"]", "[\"l\", \"o\"]"),
              HasSubstr("merge 2 does not make entry 261"));
  EXPECT_THAT(trainer_error_of(pieces, "[\"e\", \"r\"]", "[\"e\"]"), HasSubstr("merge 2 is no pair"));
  EXPECT_THAT(trainer_error_of(pieces, ",\n[\"e\", \"r\"]", ""), HasSubstr("has 2 merges, not 3"));
  EXPECT_THAT(trainer_error_of(pieces, "[\"lo\", \"w\"]", "[\"lo\", \"\"]"),
              HasSubstr("merge 1 does not make entry 260"));
  EXPECT_THAT(trainer_error_of(pieces, "[\"e\", \"r\"]", "\"e r\""), "no error");
  EXPECT_THAT(trainer_error_of(pieces, "\"er\": 261", "\"er\": 260"), HasSubstr("have the same id"));
  const std::string words = trained({"low low", "low"}, TokenizerKind::words, 100).to_json();
  EXPECT_THAT(trainer_error_of(words, "\"low\": 259", "\"l w\": 259"), HasSubstr("entry 259 \"l w\" is no word"));
  EXPECT_THAT(trainer_error_of(words, "\"low\": 259", "\"\": 259"), HasSubstr("entry 259 \"\" is no word"));
  EXPECT_THAT(trainer_error_of(words, "\"low\": 259", "\"<eos>\": 259"), HasSubstr("\"<eos>\" appears twice"));
  EXPECT_THAT(trainer_error_of(words, "\"merges\": [", "\"merges\": [[\"l\",\"o\"]"), HasSubstr("has 1 merges, not 0"));
}

}  // namespace
}  // namespace semfuse
