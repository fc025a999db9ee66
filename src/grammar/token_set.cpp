#include <algorithm>
#include <bit>

#include "semfuse/grammar.h"

namespace semfuse {

void TokenSet::unite(const TokenSet& other) {
  const std::size_t shared = std::min(words_.size(), other.words_.size());
  for (std::size_t i = 0; i < shared; ++i) words_[i] |= other.words_[i];
}

std::size_t TokenSet::count() const {
  std::size_t count = 0;
  for (const std::uint64_t word : words_) count += static_cast<std::size_t>(std::popcount(word));
  return count;
}

std::optional<TokenId> TokenSet::only() const {
  std::optional<TokenId> only;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == 0) continue;
    if (only || !std::has_single_bit(words_[i])) return std::nullopt;
    only = static_cast<TokenId>(i * 64 + static_cast<std::size_t>(std::countr_zero(words_[i])));
  }
  return only;
}

std::vector<TokenId> TokenSet::ids() const {
  std::vector<TokenId> ids;
  ids.reserve(count());
  for (std::size_t i = 0; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      ids.push_back(static_cast<TokenId>(i * 64 + static_cast<std::size_t>(std::countr_zero(word))));
    }
  }
  return ids;
}

}  // namespace semfuse
