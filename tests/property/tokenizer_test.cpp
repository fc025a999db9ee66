// For random texts and every kind of tokenizer: the text comes back, and the tokens are those of a plain definition.
#include "semfuse/tokenizer.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "core/random.h"
#include "semfuse/grammar.h"
#include "semfuse/tokenizer_trainer.h"
#include "text/piece_trainer.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

RandomStream random_numbers(std::uint64_t seed) {
  return RandomStream(seed, RandomPurpose::corpus_val);
}

void append_character(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  text += static_cast<char>((0xF00U >> more & 0xFFU) | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

// Words of few letters, so that they repeat; spaces of all sorts; any character; any byte.
std::string random_text(RandomStream& random) {
  std::string text;
  const std::uint64_t length = random.next_below(60);
  const bool raw = random.next_below(3) == 0;
  for (std::uint64_t i = 0; i < length; ++i) {
    switch (random.next_below(raw ? 5 : 4)) {
      case 0:
        text += " the and in there's ain't 12 ";
        break;
      case 1:
        for (std::uint64_t n = random.next_below(8); n > 0; --n) text += static_cast<char>('a' + random.next_below(3));
        break;
      case 2:
        append_character(text, U" \n\t\r\v\0'\"<>.,!\u00A0\u3000\u2028"[random.next_below(16)]);
        break;
      case 3: {
        const auto code = static_cast<char32_t>(random.next_below(0x110000));
        append_character(text, code >= 0xD800 && code < 0xE000 ? U'\u00E9' : code >> (4 * random.next_below(3)));
        break;
      }
      default:
        text += static_cast<char>(random.next_below(256));
    }
  }
  return text;
}

std::vector<Tokenizer> random_tokenizers(RandomStream& random) {
  TokenizerTrainer trainer, after_blank(TokenizerTrainer::kMostWords, /*leading_blank=*/true);
  for (int i = 0; i < 50; ++i) {
    const std::string text = random_text(random);
    trainer.add(text);
    after_blank.add(text);
  }
  const std::size_t size = Tokenizer::kSmallestSize + random.next_below(400);
  std::vector<Tokenizer> tokenizers = {Tokenizer::bytes()};
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces}) {
    tokenizers.push_back(trainer.make(kind, size));
    tokenizers.push_back(after_blank.make(kind, size));
    EXPECT_TRUE(tokenizers.back().leading_blank());
  }
  return tokenizers;
}

void expect_whole(const Tokenizer& tokenizer, const std::string& text) {
  const std::vector<Token> tokens = tokenizer.encode(text);
  ASSERT_EQ(tokenizer.decode(tokens), text);
  std::uint32_t end = 0;
  for (const Token& token : tokens) {
    ASSERT_EQ(token.begin, end);
    ASSERT_GE(token.id, Tokenizer::kFirstByte);
    end = token.end;
    std::string_view surface = tokenizer.surfaces()[static_cast<std::size_t>(token.id)];
    if (tokenizer.leading_blank() && &token == tokens.data()) {
      ASSERT_TRUE(surface.starts_with(' '));
      surface.remove_prefix(1);
    }
    ASSERT_EQ(text.substr(token.begin, end - token.begin), surface);
  }
  ASSERT_EQ(end, text.size());
}

TEST(Tokenizer, EveryTextComesBack) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random = random_numbers(seed);
    for (const Tokenizer& tokenizer : random_tokenizers(random)) {
      const Tokenizer read = Tokenizer::parse(tokenizer.to_json(), "f");
      ASSERT_EQ(read.kind(), tokenizer.kind());
      ASSERT_EQ(read.leading_blank(), tokenizer.leading_blank());
      ASSERT_LE(tokenizer.size(), Tokenizer::kSmallestSize + 400);
      for (int i = 0; i < 50; ++i) {
        const std::string text = random_text(random);
        expect_whole(tokenizer, text);
        ASSERT_EQ(read.encode(text), tokenizer.encode(text));
      }
    }
  }
}

// A blank before the text is read as one that is written there.
TEST(Tokenizer, ALeadingBlankIsLikeAWrittenOne) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream random = random_numbers(500 + seed);
    TokenizerTrainer written, read(TokenizerTrainer::kMostWords, /*leading_blank=*/true);
    std::vector<std::string> texts = {"", " ", "'s", " a", "\tb", "  ", "\n"};
    for (int i = 0; i < 50; ++i) texts.push_back(random_text(random));
    for (const std::string& text : texts) {
      written.add(text.empty() ? text : " " + text);
      read.add(text);
    }
    for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces}) {
      const Tokenizer plain = written.make(kind, 600), leading = read.make(kind, 600);
      ASSERT_EQ(leading.surfaces(), plain.surfaces());
      for (const std::string& text : texts) {
        const std::vector<Token> expected = plain.encode(text.empty() ? text : " " + text),
                                 found = leading.encode(text);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i].id, expected[i].id);
        ASSERT_EQ(leading.decode(found), text);
      }
    }
  }
}

// While some merge applies to the word, the first of the list is made where it applies first.
std::vector<TokenId> plain_pieces(const TokenizerParts& parts, std::string_view word) {
  std::vector<TokenId> ids;
  for (const char c : word) ids.push_back(Tokenizer::kFirstByte + static_cast<unsigned char>(c));
  for (bool merged = true; merged;) {
    merged = false;
    for (std::size_t m = 0; m < parts.merges.size() && !merged; ++m) {
      for (std::size_t i = 0; i + 1 < ids.size() && !merged; ++i) {
        if (ids[i] != parts.merges[m].left || ids[i + 1] != parts.merges[m].right) continue;
        ids[i] = parts.merges[m].result;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        merged = true;
      }
    }
  }
  return ids;
}

// Counts all pairs anew for every merge.
TokenizerParts plain_training(const std::vector<CountedWord>& words, std::size_t size) {
  TokenizerParts parts = TokenizerParts::of_bytes();
  std::vector<std::vector<TokenId>> cut;
  for (const CountedWord& word : words) cut.push_back(plain_pieces(parts, word.word));
  while (parts.surfaces.size() < size) {
    std::map<std::pair<TokenId, TokenId>, std::uint64_t> counts;
    for (std::size_t w = 0; w < cut.size(); ++w) {
      for (std::size_t i = 1; i < cut[w].size(); ++i) counts[{cut[w][i - 1], cut[w][i]}] += words[w].count;
    }
    std::uint64_t most = 1;
    Merge best;
    std::string surface;
    for (const auto& [pair, count] : counts) {
      const std::string joined =
          parts.surfaces[static_cast<std::size_t>(pair.first)] + parts.surfaces[static_cast<std::size_t>(pair.second)];
      if (count <= most || std::find(parts.surfaces.begin(), parts.surfaces.end(), joined) != parts.surfaces.end()) {
        continue;
      }
      most = count;
      surface = joined;
      best = {.left = pair.first, .right = pair.second, .result = static_cast<TokenId>(parts.surfaces.size())};
    }
    if (most < 2) break;
    parts.kind = TokenizerKind::pieces;
    parts.surfaces.push_back(surface);
    parts.merges.push_back(best);
    for (std::size_t w = 0; w < cut.size(); ++w) cut[w] = plain_pieces(parts, words[w].word);
  }
  return parts;
}

TEST(PieceTokenizer, IsThatOfThePlainAlgorithms) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random = random_numbers(1000 + seed);
    const auto random_word = [&](std::uint64_t letters) {
      std::string word;
      for (std::uint64_t n = 1 + random.next_below(seed % 2 == 0 ? 12 : 60); n > 0; --n) {
        word += static_cast<char>('a' + random.next_below(letters));
      }
      return word;
    };
    const std::uint64_t letters = 1 + seed % 4;
    WordCounts counts(1000);
    for (int i = 0; i < 12; ++i) counts.add(random_word(letters), 1 + random.next_below(4));
    const TokenizerParts parts = train_pieces(counts.words(), Tokenizer::kSmallestSize + 30);
    const TokenizerParts plain = plain_training(counts.words(), Tokenizer::kSmallestSize + 30);
    ASSERT_EQ(parts.surfaces, plain.surfaces) << seed;
    ASSERT_EQ(parts.merges, plain.merges) << seed;
    const Tokenizer tokenizer = Tokenizer::parse(tokenizer_json(parts), "f");
    for (int i = 0; i < 50; ++i) {
      const std::string word = random_word(letters);
      std::vector<TokenId> ids;
      for (const Token& token : tokenizer.encode(word)) ids.push_back(token.id);
      ASSERT_EQ(ids, plain_pieces(parts, word)) << word;
    }
  }
}

TEST(Tokenizer, ThreadsShareOne) {
  RandomStream random = random_numbers(7);
  std::vector<std::string> texts;
  for (int i = 0; i < 200; ++i) texts.push_back(random_text(random));
  for (const Tokenizer& tokenizer : random_tokenizers(random)) {
    std::vector<std::vector<std::vector<Token>>> found(4);
    std::vector<std::thread> threads;
    for (auto& result : found) {
      threads.emplace_back([&] {
        for (const std::string& text : texts) result.push_back(tokenizer.encode(text));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& result : found) EXPECT_EQ(result, found[0]);
  }
}

TEST(Tokenizer, ALongWordTakesNoLongerThanItsLength) {
  RandomStream random = random_numbers(8);
  const std::string text(2'000'000, 'a');
  for (const Tokenizer& tokenizer : random_tokenizers(random)) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(Tokenizer, GrammarsFollowEveryKind) {
  RandomStream random = random_numbers(9);
  const Grammar grammar = Grammar::parse("root ::= \"the\" (\" and\" | \" in\" | \" caf\u00E9\")*", "g");
  for (const Tokenizer& tokenizer : random_tokenizers(random)) {
    const CompiledGrammar compiled(grammar, TokenSurfaces::of(tokenizer));
    GrammarCursor cursor = compiled.begin();
    EXPECT_FALSE(cursor.allowed().contains(Tokenizer::kFirstByte + ' '));  // Nothing of the text.
    for (const Token& token : tokenizer.encode("the and in caf\u00E9 in")) ASSERT_TRUE(cursor.advance(token.id));
    EXPECT_TRUE(cursor.can_end());
    GrammarCursor other = compiled.begin();
    bool fits = true;
    for (const Token& token : tokenizer.encode(" the")) fits = fits && other.advance(token.id);
    EXPECT_FALSE(fits) << "its blank is one of the text";
  }
  // What a prompt spells in bytes begins with the byte of the blank.
  TokenizerTrainer few(TokenizerTrainer::kMostWords, /*leading_blank=*/true);
  const Tokenizer spelling = few.make(TokenizerKind::words, Tokenizer::kSmallestSize);
  GrammarCursor cursor = CompiledGrammar(grammar, TokenSurfaces::of(spelling)).begin();
  for (const Token& token : spelling.encode("the in")) ASSERT_TRUE(cursor.advance(token.id));
  EXPECT_TRUE(cursor.can_end());
}

}  // namespace
}  // namespace semfuse
