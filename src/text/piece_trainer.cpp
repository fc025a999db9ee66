#include "text/piece_trainer.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace semfuse {
namespace {

constexpr std::uint64_t kFewest = 2;  // A pair that occurs less often is not worth an entry.

using PairKey = std::uint64_t;  // Left id, right id: ordered as they are.

PairKey pair_key(TokenId left, TokenId right) {
  return static_cast<PairKey>(left) << 32 | static_cast<std::uint32_t>(right);
}

struct Pair {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> words;  // Where it was seen; it may be gone from some, and a word may come twice.
};

// By a count that was right once: counts of pairs only fall after they were put here.
struct PairCandidate {
  std::uint64_t count;
  PairKey pair;

  bool operator<(const PairCandidate& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Trainer {
 public:
  explicit Trainer(std::span<const CountedWord> words) : parts_(TokenizerParts::of_bytes()) {
    for (const auto& [word, count] : words) {
      Word cut = {.count = count};
      for (const char c : word) cut.tokens.push_back(Tokenizer::kFirstByte + static_cast<unsigned char>(c));
      words_.push_back(std::move(cut));
      count_pairs(static_cast<std::uint32_t>(words_.size() - 1));
    }
    for (const auto& [key, pair] : pairs_) candidates_.push({.count = pair.count, .pair = key});
  }

  TokenizerParts run(std::size_t size) && {
    while (parts_.surfaces.size() < size && !candidates_.empty()) {
      const PairCandidate best = candidates_.top();
      candidates_.pop();
      const std::uint64_t count = pairs_[best.pair].count;
      if (count != best.count) {
        if (count >= kFewest) candidates_.push({.count = count, .pair = best.pair});
        continue;
      }
      if (count < kFewest) break;
      // What other pieces have made already stays as it is in the few words that are cut otherwise: one merge an entry.
      std::string surface = surface_of(best.pair >> 32) + surface_of(best.pair & 0xFFFFFFFF);
      if (made_.insert(surface).second) merge(best.pair, std::move(surface));
    }
    if (!parts_.merges.empty()) parts_.kind = TokenizerKind::pieces;
    return std::move(parts_);
  }

 private:
  struct Word {
    std::vector<TokenId> tokens;
    std::uint64_t count = 0;
  };

  void count_pairs(std::uint32_t index) {
    const Word& word = words_[index];
    for (std::size_t i = 1; i < word.tokens.size(); ++i) {
      Pair& pair = pairs_[pair_key(word.tokens[i - 1], word.tokens[i])];
      pair.count += word.count;
      if (pair.words.empty() || pair.words.back() != index) pair.words.push_back(index);
    }
  }

  const std::string& surface_of(std::uint64_t id) const { return parts_.surfaces[id]; }

  void merge(PairKey key, std::string surface) {
    const auto left = static_cast<TokenId>(key >> 32);
    const auto right = static_cast<TokenId>(key & 0xFFFFFFFF);
    const auto result = static_cast<TokenId>(parts_.surfaces.size());
    parts_.surfaces.push_back(std::move(surface));
    parts_.merges.push_back({.left = left, .right = right, .result = result});
    const std::vector<std::uint32_t> places = std::move(pairs_[key].words);
    risen_.clear();
    for (const std::uint32_t index : places) merge_in(index, left, right, result);
    pairs_[key] = {};
    std::sort(risen_.begin(), risen_.end());
    risen_.erase(std::unique(risen_.begin(), risen_.end()), risen_.end());
    for (const PairKey pair : risen_) candidates_.push({.count = pairs_[pair].count, .pair = pair});
  }

  // Takes away the word's pairs, merges, and counts those that it has now.
  void merge_in(std::uint32_t index, TokenId left, TokenId right, TokenId result) {
    Word& word = words_[index];
    std::vector<TokenId>& tokens = word.tokens;
    std::size_t kept = 0;
    bool changed = false;
    const auto change = [&](TokenId a, TokenId b, bool risen) {
      Pair& pair = pairs_[pair_key(a, b)];
      if (!risen) {
        pair.count -= word.count;
        return;
      }
      pair.count += word.count;
      if (pair.words.empty() || pair.words.back() != index) pair.words.push_back(index);
      risen_.push_back(pair_key(a, b));
    };
    for (std::size_t i = 0; i < tokens.size();) {
      if (i + 1 == tokens.size() || tokens[i] != left || tokens[i + 1] != right) {
        tokens[kept++] = tokens[i++];
        continue;
      }
      changed = true;
      if (kept > 0) {
        change(tokens[kept - 1], left, false);
        change(tokens[kept - 1], result, true);
      }
      if (i + 2 < tokens.size()) {
        change(right, tokens[i + 2], false);
        change(result, tokens[i + 2], true);
      }
      change(left, right, false);
      tokens[kept++] = result;
      i += 2;
    }
    if (changed) tokens.resize(kept);
  }

  TokenizerParts parts_;
  std::vector<Word> words_;
  std::unordered_set<std::string> made_;
  std::unordered_map<PairKey, Pair> pairs_;
  std::priority_queue<PairCandidate> candidates_;
  std::vector<PairKey> risen_;  // Pairs that the merge at hand has made.
};

}  // namespace

TokenizerParts train_pieces(std::span<const CountedWord> words, std::size_t size) {
  return Trainer(words).run(size);
}

}  // namespace semfuse
