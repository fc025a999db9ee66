#include "grammar/utf8.h"

#include <algorithm>

namespace semfuse {
namespace {

// The first code points of one, two, three and four bytes, and the end.
constexpr std::array<char32_t, 5> kLengthLimits = {0, 0x80, 0x800, 0x10000, kLastCodePoint + 1};

std::string utf8(char32_t code_point) {
  std::string bytes;
  append_utf8(code_point, bytes);
  return bytes;
}

// Both ends have the same length. Splits until every byte but the last differing one spans all continuation bytes.
void append_sequences(char32_t low, char32_t high, std::vector<ByteRangeSequence>& sequences) {
  const std::string first = utf8(low);
  const std::string last = utf8(high);
  for (std::size_t tail = first.size() - 1; tail > 0; --tail) {
    const char32_t mask = (char32_t{1} << (6 * tail)) - 1;
    if ((low | mask) == (high | mask)) continue;  // They differ in the tail only.
    if ((low & mask) != 0) {
      append_sequences(low, low | mask, sequences);
      append_sequences((low | mask) + 1, high, sequences);
      return;
    }
    if ((high & mask) != mask) {
      append_sequences(low, (high & ~mask) - 1, sequences);
      append_sequences(high & ~mask, high, sequences);
      return;
    }
  }
  ByteRangeSequence sequence;
  sequence.length = first.size();
  for (std::size_t i = 0; i < first.size(); ++i) {
    sequence.ranges[i] = {static_cast<std::uint8_t>(first[i]), static_cast<std::uint8_t>(last[i])};
  }
  sequences.push_back(sequence);
}

void append_range(char32_t low, char32_t high, std::vector<ByteRangeSequence>& sequences) {
  for (std::size_t i = 0; i + 1 < kLengthLimits.size(); ++i) {
    const char32_t from = std::max(low, kLengthLimits[i]);
    const char32_t to = std::min<char32_t>(high, kLengthLimits[i + 1] - 1);
    if (from <= to) append_sequences(from, to, sequences);
  }
}

}  // namespace

void append_utf8(char32_t code_point, std::string& bytes) {
  const auto add = [&bytes](char32_t byte) { bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
    add(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    add(0xE0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  } else {
    add(0xF0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3F));
    add(0x80 | (code_point >> 6 & 0x3F));
    add(0x80 | (code_point & 0x3F));
  }
}

char32_t first_code_point(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return lead;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  char32_t code_point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code_point = code_point << 6 | (byte(i) & 0x3F);
  return code_point;
}

std::size_t whole_characters(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && text.size() - begin < 3) {
    const auto byte = static_cast<unsigned char>(text[--begin]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return begin + length > text.size() ? begin : text.size();
  }
  return text.size();
}

bool begins_with_characters(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const std::uint8_t lead = byte_at(i++);
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (int left = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1; left > 0; --left, ++i) {
      if (i == text.size()) return true;
      if (byte_at(i) < low || byte_at(i) > high) return false;
      low = 0x80;
      high = 0xBF;
    }
  }
  return true;
}

std::vector<ByteRangeSequence> utf8_sequences(CodePointRange range) {
  std::vector<ByteRangeSequence> sequences;
  if (range.low < kFirstSurrogate)
    append_range(range.low, std::min<char32_t>(range.high, kFirstSurrogate - 1), sequences);
  if (range.high > kLastSurrogate)
    append_range(std::max<char32_t>(range.low, kLastSurrogate + 1), range.high, sequences);
  return sequences;
}

std::vector<CodePointRange> normalised(std::vector<CodePointRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.low < b.low; });
  std::vector<CodePointRange> joined;
  for (const CodePointRange& range : ranges) {
    if (!joined.empty() && range.low <= joined.back().high + 1) {
      joined.back().high = std::max(joined.back().high, range.high);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

std::vector<CodePointRange> complement(const std::vector<CodePointRange>& ranges) {
  std::vector<CodePointRange> gaps;
  char32_t next = 0;
  for (const CodePointRange& range : ranges) {
    if (range.low > next) gaps.push_back({next, range.low - 1});
    next = range.high + 1;
  }
  if (next <= kLastCodePoint) gaps.push_back({next, kLastCodePoint});
  return gaps;
}

}  // namespace semfuse
