// A mask in the making.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "semfuse/grammar.h"

namespace semfuse {

// Knows which of its words were written, so that a mask of few tokens costs no more than these. Its memory is used for
// one mask after the other.
class DraftMask {
 public:
  explicit DraftMask(std::size_t num_tokens) : set_(num_tokens), written_((set_.words().size() + 63) / 64) {}

  void insert(TokenId token) {
    const auto index = static_cast<std::size_t>(token);
    set_.insert(token);
    written_[index / 4096] |= std::uint64_t{1} << (index / 64 % 64);
  }
  void insert(std::span<const TokenId> tokens) {
    for (const TokenId token : tokens) insert(token);
  }
  void unite(const TokenSet& tokens) {
    set_.unite(tokens);
    is_whole_ = true;
  }

  const TokenSet& set() const { return set_; }

  // Calls visit(index) for each word that may hold tokens, ascending, until it returns false. Whether it never did.
  template <typename Visit>
  bool all_words(Visit visit) const {
    for (std::size_t i = 0; is_whole_ && i < set_.words().size(); ++i) {
      if (!visit(i)) return false;
    }
    for (std::size_t block = 0; !is_whole_ && block < written_.size(); ++block) {
      for (std::uint64_t rest = written_[block]; rest != 0; rest &= rest - 1) {
        if (!visit(64 * block + static_cast<std::size_t>(std::countr_zero(rest)))) return false;
      }
    }
    return true;
  }

  void clear() {
    all_words([this](std::size_t i) {
      set_.words()[i] = 0;
      return true;
    });
    std::ranges::fill(written_, 0);
    is_whole_ = false;
  }

 private:
  TokenSet set_;
  std::vector<std::uint64_t> written_;  // A bit a word.
  bool is_whole_ = false;               // Any word may be written.
};

}  // namespace semfuse
