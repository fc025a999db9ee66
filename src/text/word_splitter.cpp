#include "text/word_splitter.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "io/quoted_text.h"
#include "text/character_ranges.h"

namespace semfuse {
namespace {

constexpr std::array<CharacterClass, 128> make_ascii() {
  std::array<CharacterClass, 128> classes = {};
  for (unsigned c = 0; c < 128; ++c) {
    const unsigned lower = c | 0x20;
    classes[c] = lower >= 'a' && lower <= 'z'           ? CharacterClass::letter
                 : c >= '0' && c <= '9'                 ? CharacterClass::number
                 : c == ' ' || (c >= '\t' && c <= '\r') ? CharacterClass::space
                                                        : CharacterClass::other;
  }
  return classes;
}

constexpr std::array<CharacterClass, 128> kAscii = make_ascii();
constexpr char32_t kPlaneSize = 0x10000;  // Of the characters that most text has: looked up, not searched for.

std::vector<CharacterClass> make_plane() {
  std::vector<CharacterClass> plane(kPlaneSize, CharacterClass::other);
  std::copy(kAscii.begin(), kAscii.end(), plane.begin());
  for (const CharacterRange& range : kCharacterRanges) {
    for (char32_t code = range.first; code <= range.last && code < kPlaneSize; ++code) plane[code] = range.kind;
  }
  return plane;
}

struct Character {
  CharacterClass kind;
  std::size_t length;
};

inline Character character_at(std::string_view text, std::size_t i) {
  const auto byte = static_cast<unsigned char>(text[i]);
  if (byte < 0x80) return {kAscii[byte], 1};
  const std::size_t length = utf8_character_length(text.substr(i));
  if (length == 0) return {CharacterClass::other, 1};
  return {character_class(code_point(text.substr(i, length))), length};
}

// Past the characters of that class from `i` on.
std::size_t end_of_run(std::string_view text, std::size_t i, CharacterClass kind) {
  while (i < text.size()) {
    const Character next = character_at(text, i);
    if (next.kind != kind) break;
    i += next.length;
  }
  return i;
}

// The spaces that a text begins with: where the last of them begins, and where they end.
struct Spaces {
  std::size_t last = 0;
  std::size_t end = 0;
};

Spaces spaces_of(std::string_view text) {
  Spaces spaces;
  while (spaces.end < text.size()) {
    const Character next = character_at(text, spaces.end);
    if (next.kind != CharacterClass::space) break;
    spaces.last = spaces.end;
    spaces.end += next.length;
  }
  return spaces;
}

std::size_t ending_length(std::string_view text) {
  if (text.size() < 2) return 0;
  const char c = text[1];
  if (c == 's' || c == 't' || c == 'm' || c == 'd') return 2;
  if (text.size() < 3) return 0;
  const bool long_ending = (c == 'r' && text[2] == 'e') || (c == 'v' && text[2] == 'e') || (c == 'l' && text[2] == 'l');
  return long_ending ? 3 : 0;
}

}  // namespace

CharacterClass character_class(char32_t code) {
  static const std::vector<CharacterClass> plane = make_plane();
  if (code < kPlaneSize) return plane[code];
  const auto* range = std::upper_bound(std::begin(kCharacterRanges), std::end(kCharacterRanges), code,
                                       [](char32_t c, const CharacterRange& r) { return c < r.first; });
  return (--range)->last >= code ? range->kind : CharacterClass::other;
}

std::size_t first_word_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '\'') {
    if (const std::size_t length = ending_length(text)) return length;
  }
  const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Character first = character_at(text, start);
  if (first.kind != CharacterClass::space) return end_of_run(text, start + first.length, first.kind);
  const Spaces spaces = spaces_of(text);
  return spaces.end == text.size() || spaces.last == 0 ? spaces.end : spaces.last;
}

std::size_t first_word_length_after_blank(std::string_view text) {
  if (text.empty()) return 0;
  const Character first = character_at(text, 0);
  if (first.kind != CharacterClass::space) return end_of_run(text, first.length, first.kind);
  const Spaces spaces = spaces_of(text);
  return spaces.end == text.size() ? spaces.end : spaces.last;
}

}  // namespace semfuse
