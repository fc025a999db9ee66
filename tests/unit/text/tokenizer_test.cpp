#include "semfuse/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/grammar.h"
#include "semfuse/tokenizer_trainer.h"
#include "text/byte_characters.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

std::string every_byte() {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(std::string_view json) {
  try {
    Tokenizer::parse(json, "f");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ByteCharacters, AreThoseOfGpt2AndGoBack) {
  EXPECT_EQ(byte_characters("a\n \xAD\xFF"), "a\xC4\x8A\xC4\xA0\xC5\x83\xC3\xBF");
  EXPECT_EQ(bytes_of_characters(byte_characters(every_byte())), every_byte());
  EXPECT_EQ(bytes_of_characters(" "), std::nullopt);
  EXPECT_EQ(bytes_of_characters("\xC5\x84"), std::nullopt);  // One past the last.
  EXPECT_EQ(bytes_of_characters("\xFF"), std::nullopt);
}

TEST(ByteTokenizer, HasTheSpecialsAndEveryByte) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::bytes);
  EXPECT_EQ(to_string(tokenizer.kind()), "bytes");
  EXPECT_EQ(tokenizer.size(), Tokenizer::kSmallestSize);
  EXPECT_EQ(tokenizer.surfaces()[Vocabulary::kEos], "");
  EXPECT_EQ(tokenizer.surfaces()[3 + 'a'], "a");
  EXPECT_EQ(tokenizer.vocabulary().word(Vocabulary::kBos), "<bos>");
  EXPECT_EQ(tokenizer.vocabulary().find("a"), 3 + 'a');
  EXPECT_EQ(tokenizer.vocabulary().size(), tokenizer.size());
}

TEST(ByteTokenizer, GoesThereAndBack) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  EXPECT_EQ(tokenizer.encode("a\xFF"), (std::vector<Token>{{3 + 'a', 0, 1}, {3 + 255, 1, 2}}));
  EXPECT_EQ(tokenizer.encode(""), std::vector<Token>{});
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(every_byte())), every_byte());
  const std::vector<TokenId> ids = {Vocabulary::kBos, 3 + 'h', 3 + 'i', Vocabulary::kEos, Vocabulary::kPad};
  EXPECT_EQ(tokenizer.decode(ids), "hi");
}

TEST(ByteTokenizer, RefusesIdsThatItDoesNotHave) {
  for (const TokenId id : {-1, 259, 1 << 30}) {
    EXPECT_THROW(Tokenizer::bytes().decode(std::vector<TokenId>{5, id}), Error) << id;
  }
}

TEST(TokenizerFile, OfBytesGoesThereAndBack) {
  const std::string json = Tokenizer::bytes().to_json();
  const Tokenizer tokenizer = Tokenizer::parse(json, "f");
  EXPECT_EQ(tokenizer.kind(), TokenizerKind::bytes);
  EXPECT_EQ(tokenizer.surfaces(), Tokenizer::bytes().surfaces());
  EXPECT_EQ(tokenizer.to_json(), json);
}

TEST(TokenizerFile, SaysWhatIsWrong) {
  const std::string json = Tokenizer::bytes().to_json();
  EXPECT_THAT(error_of("{"), HasSubstr("f:1:"));
  EXPECT_THAT(error_of("[]"), HasSubstr("f: is no tokenizer"));
  EXPECT_THAT(error_of("{\"model\": {}}"), HasSubstr("model.vocab is missing"));
  EXPECT_THAT(error_of(replaced(json, "\"normalizer\":null", "\"normalizer\":{\"type\":\"NFKC\"}")),
              HasSubstr("normalizer is not null; only a tokenizer.json that semfuse wrote"));
  EXPECT_THAT(error_of(replaced(json, "\"use_regex\":true", "\"use_regex\":false")),
              HasSubstr("use_regex is not true"));
  EXPECT_THAT(error_of(replaced(json, "\"type\":\"BPE\"", "\"type\":\"Unigram\"")),
              HasSubstr("model.type is not \"BPE\""));
  EXPECT_THAT(error_of(replaced(json, "\"model\"", "\"extra\\u001b\": 1, \"model\"")),
              HasSubstr("\"extra\\x1b\" is not known"));
  EXPECT_THAT(error_of(replaced(json, "\"<bos>\": 1", "\"<bos>\": 2")), HasSubstr("have the same id"));
  EXPECT_THAT(error_of(replaced(json, "\"<bos>\": 1", "\"<bos>\": -1")), HasSubstr("is not a whole number below 259"));
  EXPECT_THAT(error_of(replaced(json, "\"<bos>\"", "\"<s>\"")), HasSubstr("entry 1 is \"<s>\", not \"<bos>\""));
  EXPECT_THAT(error_of(replaced(json, "\"a\": 100", "\"aa\": 100")), HasSubstr("entry 100 is \"aa\", not \"a\""));
  EXPECT_THAT(error_of(replaced(json, "\"<pad>\": 0", "\"<pad>\": 0, \"th\": 259")), HasSubstr("has 0 merges, not 1"));
}

TEST(WordTokenizer, TakesMoreWords) {
  TokenizerTrainer trainer;
  for (int i = 0; i < 2; ++i) trainer.add("the soup was good");
  const Tokenizer tokenizer = trainer.make(TokenizerKind::words, 300);
  const std::vector<std::string> more = {" superb", "superb", " 42"};
  const Tokenizer larger = tokenizer.with_words(more);
  EXPECT_EQ(larger.size(), tokenizer.size() + 3);
  EXPECT_EQ(larger.encode(" superb").front().id, static_cast<TokenId>(tokenizer.size()));
  EXPECT_EQ(larger.encode("the soup was superb").size(), 4U);
  EXPECT_EQ(Tokenizer::parse(larger.to_json(), "t").to_json(), larger.to_json());
  for (const std::string word : {" soup", "a b", "ice-cream", " x ", "", "x"}) {
    EXPECT_THROW(tokenizer.with_words(std::vector<std::string>{word}), Error) << word;
  }
  EXPECT_THROW(tokenizer.with_words(std::vector<std::string>{"new", "new"}), Error);
  EXPECT_THROW(Tokenizer::bytes().with_words(more), Error);
}

TEST(TokenSurfaces, OfATokenizerServeGrammars) {
  const Tokenizer tokenizer = Tokenizer::bytes();
  const CompiledGrammar grammar(Grammar::parse("root ::= \"hé\" \"!\"*", "g"), TokenSurfaces::of(tokenizer));
  EXPECT_EQ(grammar.vocab_size(), tokenizer.size());
  GrammarCursor cursor = grammar.begin();
  for (const Token& token : tokenizer.encode("hé!")) ASSERT_TRUE(cursor.advance(token.id));
  EXPECT_TRUE(cursor.can_end());
  EXPECT_TRUE(cursor.advance(Vocabulary::kEos));
}

}  // namespace
}  // namespace semfuse
