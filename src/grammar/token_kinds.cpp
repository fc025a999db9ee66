#include "grammar/token_kinds.h"

#include <array>
#include <cstdint>

#include "grammar/utf8.h"

namespace semfuse {
namespace {

// Lengths are bits beside the groups of bytes: a token has those of all lengths that it exceeds.
constexpr std::array<std::uint32_t, 4> kLengths = {16, 32, 64, 128};
constexpr int kFirstLengthBit = 56;

}  // namespace

TokenKinds kinds_of(std::string_view string) {
  if (string.empty()) return kLeftOut;
  TokenKinds kinds = 0;
  for (const char c : string.substr(string.starts_with(' ') ? 1 : 0))
    kinds |= kGroupOfByte[static_cast<std::uint8_t>(c)];
  if (string.starts_with(' ')) kinds |= kLeadingBlank;
  if ((kinds & kWideBytes) != 0 && !begins_with_characters(string)) return kLeftOut;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    if (string.size() > kLengths[i]) kinds |= ByteGroups{1} << (kFirstLengthBit + i);
  }
  return kinds;
}

TokenKinds kinds_of(const StateRun& run) {
  if (run.groups == 0 || run.length < kLengths[0]) return 0;
  TokenKinds kinds = run.groups;
  if ((kinds & kGroupOfByte[' ']) != 0) kinds |= kLeadingBlank;
  for (std::size_t i = 0; i < kLengths.size(); ++i) {
    const bool holds = i + 1 < kLengths.size() ? run.length >= kLengths[i + 1] : run.length == StateRun::kEndless;
    if (holds) kinds |= ByteGroups{1} << (kFirstLengthBit + i);
  }
  return kinds;
}

TokenKinds kinds_of(const std::array<bool, 256>& bytes) {
  TokenKinds kinds = kLeadingBlank;
  for (std::size_t i = 0; i < kLengths.size(); ++i) kinds |= ByteGroups{1} << (kFirstLengthBit + i);
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    if (bytes[byte]) kinds |= kGroupOfByte[byte];
  }
  // Tokens that do not begin with whole characters have bytes beyond ASCII.
  return (kinds & kWideBytes) != 0 ? kinds | kLeftOut | kNotText : kinds;
}

TokenKinds kinds_behind_blank(const StateRun& run) {
  const TokenKinds kinds = kinds_of(run);
  return kinds == 0 ? 0 : kinds | kLeadingBlank;
}

}  // namespace semfuse
