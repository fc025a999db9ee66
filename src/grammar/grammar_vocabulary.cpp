#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/random.h"
#include "grammar/vocabulary_parts.h"
#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "semfuse/grammar.h"

namespace semfuse {

TokenSurfaces TokenSurfaces::of(const Vocabulary& vocabulary) {
  TokenSurfaces surfaces;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const bool special = id == Vocabulary::kPad || id == Vocabulary::kBos || id == Vocabulary::kEos;
    const std::string word = special ? std::string() : vocabulary.word(id);
    surfaces.first.push_back(word);
    surfaces.later.push_back(special ? word : join_words({"x", word}).substr(1));
  }
  return surfaces;
}

TokenSurfaces TokenSurfaces::of(const Tokenizer& tokenizer) {
  TokenSurfaces surfaces{.first = tokenizer.surfaces(), .later = tokenizer.surfaces()};
  if (!tokenizer.leading_blank()) return surfaces;
  // Where several are nothing but a blank, the last is the one that texts begin with: others are bytes for need.
  const auto blank = std::find(surfaces.later.rbegin(), surfaces.later.rend(), " ");
  surfaces.leading_blank = static_cast<TokenId>(surfaces.later.rend() - blank) - 1;
  for (std::string& surface : surfaces.first) {
    if (surface.starts_with(' ')) surface.erase(0, 1);
  }
  return surfaces;
}

namespace {

template <typename Word>
std::uint64_t word_at(const char* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Eight bytes at a time; the last as one or two words that overlap, which their number tells apart.
std::uint64_t hash_surface(std::uint64_t hash, std::string_view surface) {
  hash = mix_bits(hash + surface.size() + 1);
  for (; surface.size() >= 8; surface.remove_prefix(8))
    hash = mix_bits(hash ^ word_at<std::uint64_t>(surface.data())) + 0x9E3779B97F4A7C15ull;
  if (surface.empty()) return hash;
  const char* last = surface.data() + surface.size();
  const std::uint64_t rest = surface.size() >= 4
                                 ? word_at<std::uint32_t>(surface.data()) << 32 | word_at<std::uint32_t>(last - 4)
                                 : word_at<std::uint8_t>(surface.data()) << 16 |
                                       word_at<std::uint8_t>(surface.data() + surface.size() / 2) << 8 |
                                       word_at<std::uint8_t>(last - 1);
  return mix_bits(hash ^ rest) + 0x9E3779B97F4A7C15ull;
}

std::uint64_t fingerprint_of(const TokenSurfaces& surfaces, bool first_is_later) {
  std::uint64_t hash = mix_bits(surfaces.first.size()) + static_cast<std::uint64_t>(surfaces.end);
  for (const std::string& surface : surfaces.later) hash = hash_surface(hash, surface);
  if (first_is_later) return hash;
  for (const std::string& surface : surfaces.first) hash = hash_surface(hash, surface);
  return hash;
}

}  // namespace

std::uint64_t TokenSurfaces::fingerprint() const {
  return fingerprint_of(*this, first == later);
}

GrammarVocabulary::Parts::Parts(TokenSurfaces surfaces_in)
    : surfaces(std::move(surfaces_in)), later(surfaces.later), uniform(later.kinds()) {
  const bool first_is_later = surfaces.first == surfaces.later;
  fingerprint = fingerprint_of(surfaces, first_is_later);
  if (!first_is_later) first.emplace(surfaces.first);
}

GrammarVocabulary::GrammarVocabulary(TokenSurfaces surfaces) {
  if (surfaces.first.size() != surfaces.later.size()) {
    throw Error(
        fmt::format("grammar: {} tokens have a surface at the beginning, but {} have one elsewhere; give one each",
                    surfaces.first.size(), surfaces.later.size()));
  }
  if (surfaces.end < 0 || static_cast<std::size_t>(surfaces.end) >= surfaces.later.size()) {
    throw Error(
        fmt::format("grammar: the end token {} is not one of the {} tokens", surfaces.end, surfaces.later.size()));
  }
  const auto end = static_cast<std::size_t>(surfaces.end);
  if (!surfaces.first[end].empty() || !surfaces.later[end].empty()) {
    throw Error("grammar: the end token has a surface, but it is never text; leave its surfaces empty");
  }
  parts_ = std::make_shared<const Parts>(std::move(surfaces));
}

std::size_t GrammarVocabulary::size() const {
  return parts_->surfaces.later.size();
}

TokenId GrammarVocabulary::end() const {
  return parts_->surfaces.end;
}

const TokenSurfaces& GrammarVocabulary::surfaces() const {
  return parts_->surfaces;
}

std::uint64_t GrammarVocabulary::fingerprint() const {
  return parts_->fingerprint;
}

std::vector<TokenId> GrammarVocabulary::cut(std::string_view text) const {
  std::vector<TokenId> tokens;
  while (!text.empty()) {
    const std::optional<TokenTrie::Longest> longest = parts_->later.longest_prefix(text);
    if (!longest) break;
    tokens.push_back(longest->token);
    text.remove_prefix(longest->length);
  }
  return tokens;
}

}  // namespace semfuse
