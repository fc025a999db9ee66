// Characters as bytes: UTF-8 of code points and of ranges of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar_tree.h"

namespace semfuse {

inline constexpr char32_t kLastCodePoint = 0x10FFFF;
inline constexpr char32_t kFirstSurrogate = 0xD800;
inline constexpr char32_t kLastSurrogate = 0xDFFF;

void append_utf8(char32_t code_point, std::string& bytes);

// The first character of valid, non-empty UTF-8.
char32_t first_code_point(std::string_view text);

// The length of the text without a character that its end cuts off.
std::size_t whole_characters(std::string_view text);

// Whether it is valid UTF-8 but for a last character that may be cut off.
bool begins_with_characters(std::string_view text);

struct ByteRange {
  std::uint8_t low = 0;
  std::uint8_t high = 0;  // Inclusive.
};

// One to four ranges, one after the other.
struct ByteRangeSequence {
  std::array<ByteRange, 4> ranges;
  std::size_t length = 0;
};

// Sequences whose strings are the UTF-8 of the range's characters, surrogates left out.
std::vector<ByteRangeSequence> utf8_sequences(CodePointRange range);

// Sorted, overlapping and touching ranges joined.
std::vector<CodePointRange> normalised(std::vector<CodePointRange> ranges);

// Every code point that is in none of the normalised ranges.
std::vector<CodePointRange> complement(const std::vector<CodePointRange>& ranges);

}  // namespace semfuse
