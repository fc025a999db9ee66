#include "grammar/uniform_tokens.h"

#include <algorithm>
#include <utility>

namespace semfuse {
const TokenSet* UniformTokens::find(TokenKinds kinds, TokenKinds needed) const {
  constexpr std::size_t kMostSets = 64;
  if (kinds == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(sets_.begin(), sets_.end(),
                                  [&](const auto& set) { return set->kinds == kinds && set->needed == needed; });
  if (found != sets_.end()) return &(*found)->tokens;
  if (sets_.size() == kMostSets) return nullptr;
  TokenSet tokens(kinds_.size());
  const std::span<std::uint64_t> words = tokens.words();
  for (std::size_t w = 0; w < words.size(); ++w) {
    const std::size_t last = std::min<std::size_t>(64, kinds_.size() - 64 * w);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < last; ++i) {
      const TokenKinds token = kinds_[64 * w + i];
      word |= std::uint64_t{((token & ~kinds) | (~token & needed)) == 0 ? 1u : 0u} << i;
    }
    words[w] = word;
  }
  sets_.push_back(std::make_unique<const Set>(Set{kinds, needed, std::move(tokens)}));
  return &sets_.back()->tokens;
}

}  // namespace semfuse
