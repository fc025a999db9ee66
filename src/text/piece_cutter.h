// Cuts words into pieces: byte-level BPE.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "text/tokenizer_parts.h"
#include "text/word_cache.h"

namespace semfuse {

// const functions may be called from several threads at once.
class PieceCutter {
 public:
  explicit PieceCutter(const std::vector<Merge>& merges);

  // Appends the tokens of a word that begins at byte `begin` of its text. The word is a piece a byte at first; as long
  // as some merge applies, the one of lowest rank does, where it applies first.
  void cut(std::string_view word, std::uint32_t begin, std::vector<Token>& tokens) const;

 private:
  // Merge i makes the piece that has the i-th id after the bytes, so its result is its rank too.
  struct Slot {
    TokenId left = -1;
    TokenId right = -1;
    TokenId result = kNone;
  };
  static constexpr TokenId kNone = std::numeric_limits<TokenId>::max();

  TokenId merged(TokenId left, TokenId right) const;  // kNone if the two cannot be merged.
  void cut_short(std::string_view word, std::vector<Piece>& pieces) const;
  void cut_long(std::string_view word, std::vector<Piece>& pieces) const;

  std::vector<Slot> slots_;  // A power of two, at most half of them taken.
  mutable WordCache cache_;
};

}  // namespace semfuse
