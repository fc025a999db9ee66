// A hash of a text that never changes, and the split into training and validation texts by it.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/random.h"

namespace semfuse {

// FNV-1a over the bytes (64 bits), then the finaliser of splitmix64, so that every bit depends on every byte. The same
// on every machine and in every version; files depend on it.
constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  return hash ^ (hash >> 31);
}

constexpr std::uint64_t kJudgeSalt = 0x6A75646765U;  // "judge"

// Is a text one to validate with, if `share` of all texts are to be? `share` in [0, 1]. Depends on the text alone, so
// the same text is never on both sides, in whatever file and order it comes; a larger share adds texts and takes none
// away.
constexpr bool is_validation_text(std::string_view text, double share) {
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(text_hash(text) >> 11) * kScale < share;
}

// Likewise, whether a text is kept apart for a judge: whether it validates says nothing about it.
constexpr bool is_judge_text(std::string_view text, double share) {
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(mix_bits(text_hash(text) + kJudgeSalt) >> 11) * kScale < share;
}

}  // namespace semfuse
