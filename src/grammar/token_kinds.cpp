#include "grammar/token_kinds.h"

#include <array>
#include <cstdint>

#include "core/random.h"
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

KindsOfTokens::KindsOfTokens(std::span<const std::string> strings) : place_of_(strings.size()) {
  std::vector<std::uint32_t> table(1024);  // Of places, each + 1.
  const auto slot_of = [&](TokenKinds kinds) {
    std::size_t at = mix_bits(kinds) & (table.size() - 1);
    while (table[at] != 0 && all_[table[at] - 1] != kinds) at = (at + 1) & (table.size() - 1);
    return at;
  };
  for (std::size_t token = 0; token < strings.size(); ++token) {
    const TokenKinds kinds = kinds_of(strings[token]);
    std::size_t at = slot_of(kinds);
    if (table[at] == 0) {
      all_.push_back(kinds);
      table[at] = static_cast<std::uint32_t>(all_.size());
      if (2 * all_.size() > table.size()) {
        table.assign(2 * table.size(), 0);
        for (std::uint32_t i = 0; i < all_.size(); ++i) table[slot_of(all_[i])] = i + 1;
        at = slot_of(kinds);
      }
    }
    place_of_[token] = table[at] - 1;
  }
}

}  // namespace semfuse
