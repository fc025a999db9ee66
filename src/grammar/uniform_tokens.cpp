#include "grammar/uniform_tokens.h"

#include <algorithm>
#include <utility>

namespace semfuse {

UniformTokens::UniformTokens(const KindsOfTokens& kinds)
    : tokens_(kinds.place_of().size()), every_(tokens_.size()), every_blank_(tokens_.size()) {
  for (const TokenKinds one : kinds.all()) kinds_.push_back({.kinds = one, .end = 0});
  for (const std::uint32_t place : kinds.place_of()) ++kinds_[place].end;
  std::uint32_t begin = 0;
  for (Kind& kind : kinds_) begin += std::exchange(kind.end, begin);
  for (std::size_t token = 0; token < tokens_.size(); ++token) {
    const auto id = static_cast<TokenId>(token);
    Kind& kind = kinds_[kinds.place_of()[token]];
    tokens_[kind.end++] = id;
    if ((kind.kinds & kLeftOut) != 0) continue;
    every_.insert(id);
    if ((kind.kinds & kLeadingBlank) != 0) every_blank_.insert(id);
  }
}

const TokenSet* UniformTokens::find(TokenKinds kinds, TokenKinds needed) const {
  constexpr std::size_t kMostSets = 64;
  if (kinds == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(sets_.begin(), sets_.end(),
                                  [&](const auto& set) { return set->kinds == kinds && set->needed == needed; });
  if (found != sets_.end()) return &(*found)->tokens;
  if (sets_.size() == kMostSets) return nullptr;
  const auto is_in = [&](const Kind& kind) { return ((kind.kinds & ~kinds) | (~kind.kinds & needed)) == 0; };
  std::size_t num_in = 0;
  std::uint32_t begin = 0;
  for (const Kind& kind : kinds_) {
    if (is_in(kind)) num_in += kind.end - begin;
    begin = kind.end;
  }
  // Tokens are put in or taken out, whatever is less.
  const bool put_in = num_in <= tokens_.size() / 2;
  TokenSet tokens = put_in ? TokenSet(tokens_.size()) : needed != 0 ? every_blank_ : every_;
  const std::span<std::uint64_t> words = tokens.words();
  begin = 0;
  for (const Kind& kind : kinds_) {
    const std::uint32_t end = kind.end;
    if (is_in(kind) == put_in) {
      for (std::uint32_t i = begin; i < end; ++i) {
        const auto token = static_cast<std::size_t>(tokens_[i]);
        const std::uint64_t bit = std::uint64_t{1} << (token % 64);
        words[token / 64] = put_in ? words[token / 64] | bit : words[token / 64] & ~bit;
      }
    }
    begin = end;
  }
  sets_.push_back(std::make_unique<const Set>(Set{kinds, needed, std::move(tokens)}));
  return &sets_.back()->tokens;
}

}  // namespace semfuse
