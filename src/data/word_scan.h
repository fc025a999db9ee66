// The words and marks of natural text, for counting.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace semfuse {

// Letters and digits, every byte of a character beyond ASCII, and what stands inside of words: ' - _
constexpr bool is_counted_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80 || c == '\'' || c == '-' || c == '_';
}

constexpr bool is_space_byte(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Length of the character beyond ASCII at the start of the text if it is a mark or a space, else 0: Latin signs,
// general punctuation without the apostrophe, and that of Chinese and Japanese.
constexpr std::size_t foreign_mark_length(std::string_view text) {
  if (text.starts_with("\xC2")) return text.size() > 1 ? 2 : 0;
  const bool punctuation = text.starts_with("\xE2\x80") || text.starts_with("\xE2\x81") ||
                           text.starts_with("\xE3\x80") || text.starts_with("\xEF\xBC");
  return punctuation && text.size() > 2 && !text.starts_with("\xE2\x80\x99") ? 3 : 0;
}

// Calls use(piece) for each word (a run of word bytes) and each other character that is no space, in their order: it's
// | a | well-made | ( | thing | ).
template <typename Use>
void for_each_word(std::string_view text, Use use) {
  for (std::size_t i = 0; i < text.size();) {
    if (is_space_byte(text[i])) {
      ++i;
      continue;
    }
    const std::size_t foreign = foreign_mark_length(text.substr(i));
    std::size_t end = i + std::max<std::size_t>(foreign, 1);
    if (foreign == 0 && is_counted_byte(text[i])) {
      while (end < text.size() && is_counted_byte(text[end]) &&
             (static_cast<unsigned char>(text[end]) < 0xC2 || foreign_mark_length(text.substr(end)) == 0)) {
        ++end;
      }
    }
    use(text.substr(i, end - i));
    i = end;
  }
}

}  // namespace semfuse
