#include "io/quoted_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace semfuse {

std::size_t utf8_character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF5 ? 0 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies past U+10FFFF are told by the second byte.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F)) return 0;
  if ((first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    // Most text is ASCII: eight bytes at once.
    std::uint64_t eight = 0;
    while (i + sizeof(eight) <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof(eight));
      if ((eight & 0x8080808080808080U) != 0) break;
      i += sizeof(eight);
    }
    if (i == text.size()) break;
    const std::size_t length = utf8_character_length(text.substr(i));
    if (length == 0) return i;
    i += length;
  }
  return i;
}

char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  char32_t code = character.size() == 1 ? first : first & (0x7FU >> character.size());
  for (const char byte : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

bool is_unsafe_to_show(std::string_view character) {
  const char32_t code = code_point(character);
  const auto among = [code](char32_t first, char32_t last) { return first <= code && code <= last; };
  return code < 0x20 || among(0x7F, 0x9F) || code == 0x61C || among(0x200E, 0x200F) || among(0x2028, 0x202E) ||
         among(0x2066, 0x2069);
}

std::string quoted_text(std::string_view text, std::size_t max_bytes) {
  std::string result = "\"";
  for (std::size_t i = 0; i < text.size();) {
    if (i >= max_bytes) return result + "...\"";
    const char c = text[i];
    const std::size_t length = utf8_character_length(text.substr(i));
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (length == 0 || (length == 1 && is_unsafe_to_show(text.substr(i, 1)))) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (is_unsafe_to_show(text.substr(i, length))) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(code_point(text.substr(i, length))));
    } else {
      result += text.substr(i, length);
    }
    i += length == 0 ? 1 : length;
  }
  return result + '"';
}

}  // namespace semfuse
