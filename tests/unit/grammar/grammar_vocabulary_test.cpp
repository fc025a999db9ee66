#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "semfuse/error.h"
#include "semfuse/grammar.h"
#include "support/plain_gbnf.h"
#include "support/plain_reader.h"

namespace semfuse {
namespace {

using testing::ElementsAre;

// All bytes as tokens 1 to 256, and some words.
GrammarVocabulary vocabulary_with(const std::vector<std::string>& words) {
  TokenSurfaces surfaces;
  surfaces.end = 0;
  surfaces.later = {""};
  for (int byte = 0; byte < 256; ++byte) surfaces.later.emplace_back(1, static_cast<char>(byte));
  for (const std::string& word : words) surfaces.later.push_back(word);
  surfaces.first = surfaces.later;
  return GrammarVocabulary(surfaces);
}

constexpr TokenId kFirstWord = 257;

TokenId byte_token(char c) {
  return 1 + static_cast<TokenId>(static_cast<unsigned char>(c));
}

TEST(GrammarVocabulary, IsSharedByGrammars) {
  const GrammarVocabulary vocabulary = vocabulary_with({"ab", "abc"});
  EXPECT_EQ(vocabulary.size(), 259u);
  EXPECT_EQ(vocabulary.fingerprint(), vocabulary.surfaces().fingerprint());
  const CompiledGrammar one(Grammar::parse("root ::= \"abc\"", "g"), vocabulary);
  const CompiledGrammar two(Grammar::from_regex("[^b]{2}"), vocabulary);
  EXPECT_EQ(&one.vocabulary().surfaces(), &two.vocabulary().surfaces());
  EXPECT_THAT(one.begin().allowed().ids(), ElementsAre(byte_token('a'), kFirstWord, kFirstWord + 1));
  EXPECT_TRUE(one.promises_end());
  EXPECT_THAT(vocabulary.cut("abcabx"), ElementsAre(kFirstWord + 1, kFirstWord, byte_token('x')));
}

TEST(GrammarVocabulary, CursorsFillWordsAndGoBack) {
  const GrammarVocabulary vocabulary = vocabulary_with({"ab", "ba"});
  const CompiledGrammar compiled(Grammar::from_regex("(ab|ba){3}c*"), vocabulary);
  GrammarCursor cursor = compiled.begin();
  std::vector<std::int32_t> words((vocabulary.size() + 31) / 32);
  const auto matches = [&] {
    cursor.fill(words);
    for (std::size_t t = 0; t < vocabulary.size(); ++t) {
      const bool set = (static_cast<std::uint32_t>(words[t / 32]) >> (t % 32) & 1) != 0;
      if (set != cursor.allowed().contains(static_cast<TokenId>(t))) return false;
    }
    return true;
  };
  EXPECT_TRUE(matches());
  std::vector<std::vector<TokenId>> allowed;
  const std::vector<TokenId> text = {kFirstWord, byte_token('b'), byte_token('a'), kFirstWord + 1, byte_token('c'), 0};
  for (const TokenId id : text) {
    allowed.push_back(cursor.allowed().ids());
    ASSERT_TRUE(cursor.advance(id));
    EXPECT_TRUE(matches());
  }
  EXPECT_TRUE(cursor.ended());
  EXPECT_EQ(cursor.tokens().size(), text.size());
  for (std::size_t i = text.size(); i-- > 0;) {
    cursor.rollback(1);
    EXPECT_EQ(cursor.allowed().ids(), allowed[i]);
  }
  EXPECT_THROW(cursor.rollback(1), Error);
  for (const TokenId id : text) ASSERT_TRUE(cursor.advance(id));
  cursor.rollback(text.size());
  EXPECT_EQ(cursor.allowed().ids(), allowed[0]);
  words.pop_back();
  EXPECT_THROW(cursor.fill(words), Error);
}

TEST(GrammarVocabulary, ForcedTextIsLongerThanForcedTokens) {
  const GrammarVocabulary vocabulary = vocabulary_with({"{\"", "na", "name", "\":"});
  const CompiledGrammar compiled(Grammar::parse("root ::= \"{\\\"name\\\":\" (\"é\" | \"è\") \"}\"", "g"), vocabulary);
  GrammarCursor cursor = compiled.begin();
  EXPECT_FALSE(cursor.forced());
  EXPECT_EQ(cursor.forced_text(), "{\"name\":");
  EXPECT_EQ(cursor.forced_text(3), "{\"n");
  const std::vector<TokenId> tokens = cursor.forced_tokens();
  EXPECT_THAT(tokens, ElementsAre(kFirstWord, kFirstWord + 2));  // The last may be part of a longer one.
  for (const TokenId id : tokens) EXPECT_TRUE(cursor.advance(id));
  for (const char c : std::string("\":é")) ASSERT_TRUE(cursor.advance(byte_token(c)));
  EXPECT_EQ(cursor.forced_text(), "}");
  EXPECT_THAT(cursor.forced_tokens(), ElementsAre(byte_token('}')));
}

// Masks inside counted repetitions and loops, where whole subtrees are taken, against trying each token.
TEST(GrammarVocabulary, MasksAreWhatCanBeReadTokenByToken) {
  const GrammarVocabulary vocabulary =
      vocabulary_with({"abc", "abcd", "a\"", "é", "éé", "\xC3", "\xA9x", "  ", "0123456789", "ab\",", "\\n", "\\",
                       "\"}", "x\xC3", "12", "aé\"", "日本", "\xE6\x97"});
  for (const char* gbnf : {"root ::= \"\\\"\" char{0,7} \"\\\"}\"\nchar ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [n\"]",
                           "root ::= [a-z0-9]{2,5} \"\\\"\" [^a]*",
                           "root ::= (item \",\")* item\nitem ::= \"\\\"\" [^\"\\\\]* \"\\\"\" | \"[\" root \"]\"",
                           "root ::= .{3,20} \"x\"", "root ::= a{2,9} \"}\"\na ::= [a-c]+ | \"[\" a \"]\""}) {
    SCOPED_TRACE(gbnf);
    const Grammar grammar = Grammar::parse(gbnf, "g");
    const CompiledGrammar compiled(grammar, vocabulary);
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      GrammarCursor cursor = compiled.begin();
      std::uint32_t state = seed * 2654435761u + 1;
      for (int step = 0; step < 12 && !cursor.ended(); ++step) {
        const std::vector<TokenId> ids = cursor.allowed().ids();
        for (std::size_t t = 1; t < vocabulary.size(); ++t) {
          GrammarCursor copy = cursor;
          ASSERT_EQ(copy.advance(static_cast<TokenId>(t)), cursor.allowed().contains(static_cast<TokenId>(t))) << t;
        }
        ASSERT_FALSE(ids.empty());
        state = state * 1664525u + 1013904223u;
        ASSERT_TRUE(cursor.advance(ids[(state >> 8) % ids.size()]));
      }
    }
  }
}

std::vector<std::string> long_and_blank_words() {
  std::vector<std::string> words = {" ",     "  ",    " w", " word", "  word", "wo rd", " wo rd",
                                    "word ", " Word", " 7", "é",     " é",     "\xC3",  " \xC3"};
  for (const std::size_t length : {15u, 16u, 17u, 32u, 33u, 64u, 65u, 128u, 129u, 300u}) {
    words.emplace_back(length, 'a');
    words.push_back(" " + std::string(length - 1, 'a'));
    words.push_back(std::string(length - 1, 'a') + " ");
    words.push_back(std::string(length - 1, 'a') + "\"");
    words.emplace_back(length, ' ');
  }
  return words;
}

// Whole sets of tokens are taken where a state reads on and on: as long as that, with and without a blank before them.
TEST(GrammarVocabulary, MasksOfLongTokensAreWhatCanBeReadTokenByToken) {
  const GrammarVocabulary vocabulary = vocabulary_with(long_and_blank_words());
  for (const char* gbnf :
       {"root ::= \"\\\"\" [^\"\\\\]* \"\\\"\"", "root ::= [a-z]+ (\" \" [a-z]+)* \" \"",
        "root ::= \"x\" \" \"? [a-z]{0,70} \" \"? [a-z]{0,16}", "root ::= [ a-z]{0,140} \"\\\"\"",
        "root ::= (\" \" word)* \"\\\"\"\nword ::= [a-w]{16} | [a-zé]{33,} | \"x\" word \"x\"",
        "root ::= \"x\" (\" \"{2,64} [a-z]{17,64}){1,9} \"\\\"\"", "root ::= [a-z ]{128} [a-z]{128}"}) {
    SCOPED_TRACE(gbnf);
    const Grammar grammar = Grammar::parse(gbnf, "g");
    const CompiledGrammar compiled(grammar, vocabulary);
    for (std::uint32_t seed = 0; seed < 5; ++seed) {
      GrammarCursor cursor = compiled.begin();
      std::uint32_t state = seed * 2654435761u + 1;
      std::string text;
      for (int step = 0; step < 9; ++step) {
        for (std::size_t t = 1; t < vocabulary.size(); ++t) {
          GrammarCursor copy = cursor;
          ASSERT_EQ(copy.advance(static_cast<TokenId>(t)), cursor.allowed().contains(static_cast<TokenId>(t)))
              << text << " + " << t;
          const std::string with = text + vocabulary.surfaces().later[t];
          if (with.find('\xC3') != std::string::npos || t < kFirstWord) continue;
          ASSERT_EQ(grammar.match(with).offset == with.size(), cursor.allowed().contains(static_cast<TokenId>(t)))
              << with;
        }
        std::vector<TokenId> ids = cursor.allowed().ids();
        std::erase_if(ids, [](TokenId id) { return id == 0; });
        if (ids.empty()) break;
        state = state * 1664525u + 1013904223u;
        const TokenId chosen = ids[(state >> 8) % ids.size()];
        ASSERT_TRUE(cursor.advance(chosen));
        text += vocabulary.surfaces().later[static_cast<std::size_t>(chosen)];
      }
    }
  }
}

// What one cursor finds out others read without a lock.
TEST(GrammarVocabulary, CursorsInThreadsSeeTheSameMasks) {
  const GrammarVocabulary vocabulary = vocabulary_with(long_and_blank_words());
  const Grammar grammar =
      Grammar::parse("root ::= item{0,500}\nitem ::= \"a\" [a-z ]{0,300} \"\\\"\" | \"(\" root \")\"", "g");
  const auto masks_of = [&](const CompiledGrammar& compiled, std::uint32_t seed) {
    std::vector<std::vector<TokenId>> masks;
    GrammarCursor cursor = compiled.begin();
    for (std::uint32_t state = seed; masks.size() < 60 && !cursor.ended(); state = state * 1664525u + 1013904223u) {
      masks.push_back(cursor.allowed().ids());
      EXPECT_TRUE(cursor.advance(masks.back()[(state >> 8) % masks.back().size()]));
    }
    return masks;
  };
  const CompiledGrammar shared(grammar, vocabulary);
  std::vector<std::vector<std::vector<TokenId>>> found(8);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < found.size(); ++i)
      threads.emplace_back([&, i] { found[i] = masks_of(shared, 1 + i / 2); });
  }
  for (std::uint32_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i], masks_of(CompiledGrammar(grammar, vocabulary), 1 + i / 2)) << i;
}

// Cases of tests/long/schema_check.py, as PyPI's jsonschema judges them.
TEST(SchemaGrammar, AgreesWithStoredVerdicts) {
  std::ifstream file(std::string(SEMFUSE_SOURCE_DIR) + "/tests/unit/grammar/schema_cases.jsonl");
  std::size_t num_texts = 0;
  for (std::string line; std::getline(file, line);) {
    const auto one = nlohmann::ordered_json::parse(line);
    SCOPED_TRACE(line);
    const Grammar grammar = Grammar::from_json_schema(one["schema"].dump());
    for (const auto& text : one["valid"]) EXPECT_TRUE(grammar.match(text.get<std::string>()).accepted) << text;
    for (const auto& text : one["invalid"]) EXPECT_FALSE(grammar.match(text.get<std::string>()).accepted) << text;
    num_texts += one["valid"].size() + one["invalid"].size();
  }
  EXPECT_GE(num_texts, 600u);
}

// Masks along the longest valid text of each of these, against a plain reading of the grammar that shares nothing with
// the library.
TEST(SchemaGrammar, MasksAreThoseOfAPlainRecogniser) {
  std::ifstream file(std::string(SEMFUSE_SOURCE_DIR) + "/tests/unit/grammar/schema_cases.jsonl");
  std::size_t num_masks = 0;
  for (std::string line; std::getline(file, line);) {
    const auto one = nlohmann::ordered_json::parse(line);
    if (one["valid"].empty()) continue;
    SCOPED_TRACE(line);
    std::vector<std::string> pieces = {"\"",  "\": ",  ", ", "[", "]",  "}",  "{\"", "\",",
                                       "\\n", "\\u00", "12", "-", "0.", "tr", "é"};
    const std::size_t num_fixed = pieces.size();
    for (const auto& text : one["valid"]) {
      for (std::size_t i = 0; i + 7 < text.get<std::string>().size() && pieces.size() < num_fixed + 40; i += 5)
        pieces.push_back(text.get<std::string>().substr(i, 2 + i % 6));
    }
    const GrammarVocabulary vocabulary = vocabulary_with(pieces);
    const Grammar grammar = Grammar::from_json_schema(one["schema"].dump());
    const CompiledGrammar compiled(grammar, vocabulary);
    std::string valid;
    for (const auto& each : one["valid"]) {
      if (each.get<std::string>().size() > valid.size()) valid = each.get<std::string>();
    }
    const ReferenceGrammar plain = PlainGbnf::read(grammar.gbnf());
    PlainReader reader(plain);
    PlainReader::Ways ways = reader.begin();
    GrammarCursor cursor = compiled.begin();
    std::size_t left = 12;
    for (const TokenId id : vocabulary.cut(valid)) {
      if (left-- == 0) break;
      ++num_masks;
      const std::vector<std::string>& tokens = vocabulary.surfaces().later;
      for (std::size_t t = 1; t < tokens.size(); ++t) {
        ASSERT_EQ(cursor.allowed().contains(static_cast<TokenId>(t)), !reader.read(ways, tokens[t]).empty())
            << "after " << 11 - left << " tokens: " << tokens[t];
      }
      ASSERT_EQ(cursor.allowed().contains(0), PlainReader::is_sentence(ways));
      ASSERT_TRUE(cursor.advance(id));
      ways = reader.read(ways, tokens[static_cast<std::size_t>(id)]);
    }
    ASSERT_TRUE(reader.is_plain());
  }
  EXPECT_GT(num_masks, 200u);
}

}  // namespace
}  // namespace semfuse
