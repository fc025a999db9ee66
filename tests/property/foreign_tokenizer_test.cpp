// Random tokenizers of the foreign kinds against the rule of each, written down as simply as can be.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "text/split_pattern.h"
#include "text/spm_pieces.h"
#include "text/tokenizer_state.h"

namespace semfuse {
namespace {

using Random = std::mt19937;

std::string random_text(Random& random, std::size_t longest) {
  static const std::vector<std::string> kParts = {"a", "b",  "c",  "ab", " ",    "  ", "1",
                                                  "é", "日", "\n", "'s", "\xFF", "!"};
  std::string text;
  for (std::size_t i = random() % longest; i > 0; --i) text += kParts[random() % kParts.size()];
  return text;
}

std::vector<TokenId> ids(const std::vector<Token>& tokens) {
  std::vector<TokenId> result;
  for (const Token& token : tokens) result.push_back(token.id);
  return result;
}

// All bytes, then merges of random entries.
ForeignParts random_bpe(Random& random) {
  ForeignParts parts;
  std::set<std::string> taken;
  for (int byte = 0; byte < 256; ++byte) parts.surfaces.emplace_back(1, static_cast<char>(byte));
  const std::string common = "abc 1!\n\xC3\xA9";
  std::vector<TokenId> pool;
  for (const char c : common) pool.push_back(static_cast<unsigned char>(c));
  for (int i = 0; i < 60; ++i) {
    const TokenId left = pool[random() % pool.size()];
    const TokenId right = pool[random() % pool.size()];
    const std::string joined =
        parts.surfaces[static_cast<std::size_t>(left)] + parts.surfaces[static_cast<std::size_t>(right)];
    if (!taken.insert(joined).second) continue;
    parts.merges.push_back({left, right, static_cast<TokenId>(parts.surfaces.size())});
    pool.push_back(static_cast<TokenId>(parts.surfaces.size()));
    parts.surfaces.push_back(joined);
  }
  parts.patterns = {std::string(kGpt2Pattern)};
  if (random() % 2 == 0) parts.patterns.insert(parts.patterns.begin(), R"(\p{N})");
  return parts;
}

// Of one word: the earliest merge that applies is made where it applies first, until none does.
void cut_slowly(std::string_view word, const ForeignParts& parts, std::vector<TokenId>& tokens) {
  std::vector<TokenId> pieces;
  for (const char c : word) pieces.push_back(static_cast<unsigned char>(c));
  while (true) {
    std::size_t best = parts.merges.size();
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
      for (std::size_t m = 0; m < best; ++m) {
        if (parts.merges[m].left == pieces[i] && parts.merges[m].right == pieces[i + 1]) best = m, place = i;
      }
    }
    if (best == parts.merges.size()) break;
    pieces[place] = parts.merges[best].result;
    pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  tokens.insert(tokens.end(), pieces.begin(), pieces.end());
}

TEST(ForeignTokenizerProperty, ByteLevelCutsAsTheRuleSays) {
  Random random(1);
  for (int round = 0; round < 30; ++round) {
    const ForeignParts parts = random_bpe(random);
    const Tokenizer tokenizer = ForeignTokenizers::make(parts, "random");
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, i == 0 ? 300 : 30);
      std::vector<std::string_view> words = {text};
      for (const std::string& pattern : parts.patterns) {
        std::vector<std::string_view> smaller;
        for (const std::string_view word : words) SplitPattern(pattern).split(word, smaller);
        words = smaller;
      }
      std::vector<TokenId> expected;
      for (const std::string_view word : words) cut_slowly(word, parts, expected);
      const std::vector<Token> tokens = tokenizer.encode(text);
      ASSERT_EQ(ids(tokens), expected) << text;
      ASSERT_EQ(tokenizer.decode(tokens), text);
      std::uint32_t end = 0;
      for (const Token& token : tokens) {
        ASSERT_EQ(token.begin, end);
        end = token.end;
      }
      ASSERT_EQ(end, text.size());
    }
  }
}

// Characters, the pair with the best score first, leftmost among equals; then bytes for what is no piece.
std::vector<TokenId> spm_slowly(const std::string& text, const std::vector<SpmPiece>& pieces) {
  std::map<std::string, TokenId> known;
  for (std::size_t i = 259; i < pieces.size(); ++i) known[with_blanks(pieces[i].text)] = static_cast<TokenId>(i);
  std::vector<std::string> symbols;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    std::size_t length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : 3;
    if (byte == 0xFF) length = 1;
    symbols.push_back(text.substr(i, length));
    i += length;
  }
  while (true) {
    double best = -1e300;
    std::size_t place = symbols.size();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = known.find(symbols[i] + symbols[i + 1]);
      if (found == known.end() || pieces[static_cast<std::size_t>(found->second)].score <= best) continue;
      best = pieces[static_cast<std::size_t>(found->second)].score;
      place = i;
    }
    if (place == symbols.size()) break;
    symbols[place] += symbols[place + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
  std::vector<TokenId> tokens;
  for (const std::string& symbol : symbols) {
    if (const auto found = known.find(symbol); found != known.end()) {
      tokens.push_back(found->second);
    } else {
      for (const char c : symbol) tokens.push_back(3 + static_cast<unsigned char>(c));
    }
  }
  return tokens;
}

TEST(ForeignTokenizerProperty, SentencePieceCutsAsTheRuleSays) {
  Random random(2);
  for (int round = 0; round < 30; ++round) {
    std::vector<SpmPiece> pieces = {
        {"<unk>", 0, SpmType::unknown}, {"<s>", 0, SpmType::control}, {"</s>", 0, SpmType::control}};
    for (int byte = 0; byte < 256; ++byte)
      pieces.push_back({std::string(1, static_cast<char>(byte)), 0, SpmType::byte});
    std::set<std::string> taken;
    // Characters may be missing though pieces have them.
    const std::vector<std::string> characters = {"a", "b", "c", " ", "1", "é", "!"};
    for (const std::string& c : characters) {
      if (random() % 4 != 0 && taken.insert(c).second) pieces.push_back({c, -100, SpmType::normal});
    }
    for (int i = 0; i < 60; ++i) {
      std::string text;
      for (std::size_t n = 2 + random() % 3; n > 0; --n) text += characters[random() % characters.size()];
      if (taken.insert(text).second) pieces.push_back({text, -static_cast<double>(random() % 40), SpmType::normal});
    }
    ForeignParts parts = spm_parts(pieces, "random");
    parts.prefix_blank = random() % 2 == 0;
    const Tokenizer tokenizer = ForeignTokenizers::make(parts, "random");
    const Tokenizer again = Tokenizer::parse(tokenizer.to_json(), "again");
    for (int i = 0; i < 20; ++i) {
      const std::string text = random_text(random, i == 0 ? 200 : 30);
      const std::vector<Token> tokens = tokenizer.encode(text);
      ASSERT_EQ(ids(tokens),
                text.empty() ? std::vector<TokenId>() : spm_slowly((parts.prefix_blank ? " " : "") + text, pieces))
          << text;
      ASSERT_EQ(tokenizer.decode(tokens), text);
      ASSERT_EQ(again.encode(text), tokens);
    }
  }
}

}  // namespace
}  // namespace semfuse
