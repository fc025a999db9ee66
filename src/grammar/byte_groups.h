// Bytes in groups that grammars rarely tell apart, a bit each: whether a tree of tokens holds only bytes that a state
// reads without end is then one operation.
#pragma once

#include <array>
#include <cstdint>

namespace semfuse {

using ByteGroups = std::uint64_t;

// Bits 55 to 59 and the last are those of TokenKinds.
//
// Bytes of characters beyond ASCII, and strings in which such bytes are no whole characters but for the last.
inline constexpr ByteGroups kWideBytes = ByteGroups{1} << 61;
inline constexpr ByteGroups kNotText = ByteGroups{1} << 62;

// The group of each byte: punctuation one by one, letters and digits as JSON and programs need them.
inline constexpr std::array<ByteGroups, 256> kGroupOfByte = [] {
  std::array<ByteGroups, 256> groups{};
  int next = 0;
  const auto set = [&groups](int low, int high, int bit) {
    for (int byte = low; byte <= high; ++byte) groups[static_cast<std::size_t>(byte)] = ByteGroups{1} << bit;
  };
  set(0x00, 0x1F, next++);
  for (const char c : {'\t', '\n', '\r'}) set(c, c, next++);
  for (int byte = 0x20; byte < 0x80; ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
    if (!letter) set(byte, byte, next++);
  }
  set('0', '0', next++);
  set('1', '9', next++);
  set('A', 'F', next++);
  set('E', 'E', next++);
  set('G', 'Z', next++);
  set('a', 'f', next++);
  set('e', 'e', next++);
  set('g', 'z', next++);
  for (int byte = 0x80; byte < 0x100; ++byte) groups[static_cast<std::size_t>(byte)] = kWideBytes;
  return groups;
}();

}  // namespace semfuse
