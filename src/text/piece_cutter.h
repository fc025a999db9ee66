// Cuts words into pieces by merges: BPE, of bytes or of characters.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer_parts.h"
#include "text/word_cache.h"

namespace semfuse {

// const functions may be called from several threads at once.
class PieceCutter {
 public:
  // Appends what a word is before any merge, at least one byte each.
  using Symbols = std::function<void(std::string_view word, std::vector<Piece>& pieces)>;

  // Merges in the order of their ranks, beginning with bytes as Tokenizer has them.
  explicit PieceCutter(const std::vector<Merge>& merges);
  // The same with ranks of its own, a number a merge, and other symbols.
  PieceCutter(const std::vector<Merge>& merges, std::span<const std::uint32_t> ranks, Symbols symbols);

  // Appends the tokens of a word that begins at byte `begin` of its text. As long as some merge applies, the one of
  // lowest rank does, where it applies first.
  void cut(std::string_view word, std::uint32_t begin, std::vector<Token>& tokens) const;

 private:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // What two neighbours become.
  struct Result {
    std::uint32_t rank = kNone;  // kNone if they cannot be merged.
    TokenId id = -1;
  };
  struct Slot {
    TokenId left = -1;
    TokenId right = -1;
    Result result;
  };

  Result merged(TokenId left, TokenId right) const;
  void cut_short(std::vector<Piece>& pieces) const;
  void cut_long(std::vector<Piece>& pieces) const;

  std::vector<Slot> slots_;  // A power of two, at most half of them taken.
  Symbols symbols_;
  mutable WordCache cache_;
};

}  // namespace semfuse
