#include "grammar/uniform_tokens.h"

#include <algorithm>
#include <utility>

#include "core/random.h"

namespace semfuse {

UniformTokens::UniformTokens(std::span<const TokenKinds> kinds)
    : tokens_(kinds.size()), every_(kinds.size()), every_blank_(kinds.size()) {
  // A table of places in kinds_, each + 1. There are few kinds, so it is small.
  std::vector<std::uint32_t> table(1024);
  const auto place_of = [&](TokenKinds one) {
    std::size_t at = mix_bits(one) & (table.size() - 1);
    while (table[at] != 0 && kinds_[table[at] - 1].kinds != one) at = (at + 1) & (table.size() - 1);
    return at;
  };
  std::vector<std::uint32_t> kind_of(kinds.size());
  for (std::size_t token = 0; token < kinds.size(); ++token) {
    std::size_t at = place_of(kinds[token]);
    if (table[at] == 0) {
      kinds_.push_back({.kinds = kinds[token], .end = 0});
      table[at] = static_cast<std::uint32_t>(kinds_.size());
      if (2 * kinds_.size() > table.size()) {
        table.assign(2 * table.size(), 0);
        for (std::uint32_t i = 0; i < kinds_.size(); ++i) table[place_of(kinds_[i].kinds)] = i + 1;
        at = place_of(kinds[token]);
      }
    }
    kind_of[token] = table[at] - 1;
    ++kinds_[kind_of[token]].end;
  }
  std::uint32_t begin = 0;
  for (Kind& kind : kinds_) begin += std::exchange(kind.end, begin);
  for (std::size_t token = 0; token < kinds.size(); ++token) {
    const auto id = static_cast<TokenId>(token);
    tokens_[kinds_[kind_of[token]].end++] = id;
    if ((kinds[token] & kLeftOut) != 0) continue;
    every_.insert(id);
    if ((kinds[token] & kLeadingBlank) != 0) every_blank_.insert(id);
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
  begin = 0;
  for (const Kind& kind : kinds_) {
    for (std::uint32_t i = begin; is_in(kind) == put_in && i < kind.end; ++i) {
      const auto token = static_cast<std::size_t>(tokens_[i]);
      const std::uint64_t bit = std::uint64_t{1} << (token % 64);
      std::uint64_t& word = tokens.words()[token / 64];
      word = put_in ? word | bit : word & ~bit;
    }
    begin = kind.end;
  }
  sets_.push_back(std::make_unique<const Set>(Set{kinds, needed, std::move(tokens)}));
  return &sets_.back()->tokens;
}

}  // namespace semfuse
