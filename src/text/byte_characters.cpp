#include "text/byte_characters.h"

#include <array>
#include <cstdint>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

constexpr std::size_t kNumCharacters = 256 + 68;  // Past the last one.

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

struct Characters {
  std::array<std::uint16_t, 256> of_byte = {};
  std::array<std::int16_t, kNumCharacters> byte_of = {};
};

// Bytes that cannot be seen have the characters from U+0100 on, in their order.
constexpr Characters make_characters() {
  Characters characters;
  for (auto& byte : characters.byte_of) byte = -1;
  std::uint16_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint16_t code = stands_for_itself(byte) ? static_cast<std::uint16_t>(byte) : next++;
    characters.of_byte[byte] = code;
    characters.byte_of[code] = static_cast<std::int16_t>(byte);
  }
  return characters;
}

constexpr Characters kCharacters = make_characters();

}  // namespace

std::string byte_characters(std::string_view bytes) {
  std::string characters;
  for (const char c : bytes) {
    const unsigned code = kCharacters.of_byte[static_cast<unsigned char>(c)];
    if (code < 0x80) {
      characters += static_cast<char>(code);
    } else {
      characters += {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    }
  }
  return characters;
}

std::optional<std::string> bytes_of_characters(std::string_view characters) {
  std::string bytes;
  while (!characters.empty()) {
    const std::size_t length = utf8_character_length(characters);
    if (length == 0) return std::nullopt;
    const char32_t code = code_point(characters.substr(0, length));
    if (code >= kNumCharacters || kCharacters.byte_of[code] < 0) return std::nullopt;
    bytes += static_cast<char>(kCharacters.byte_of[code]);
    characters.remove_prefix(length);
  }
  return bytes;
}

}  // namespace semfuse
