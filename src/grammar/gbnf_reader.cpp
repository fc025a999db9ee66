#include "grammar/gbnf_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "grammar/gbnf_parser.h"
#include "grammar/utf8.h"
#include "io/quoted_text.h"

namespace semfuse {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

GbnfReader::GbnfReader(const GrammarText& source) : source_(source), text_(source.text) {
  if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // A byte order mark.
}

std::string GbnfReader::next_text() const {
  if (at_end()) return "the end of the grammar";
  if (at_line_end()) return "the end of the line";
  const std::size_t length = std::max<std::size_t>(1, utf8_character_length(text_.substr(position_)));
  return quoted_text(text_.substr(position_, length));
}

void GbnfReader::check_bytes() const {
  if (text_.size() > kMaxGrammarBytes) {
    fail(0, fmt::format("the grammar has {} bytes, more than {}; make it shorter", text_.size(), kMaxGrammarBytes));
  }
  for (std::size_t i = 0; i < text_.size();) {
    const std::size_t length = utf8_character_length(text_.substr(i));
    if (length == 0) fail(i, "this is not valid UTF-8; save the grammar as UTF-8");
    i += length;
  }
}

void GbnfReader::skip_space(bool lines) {
  while (!at_end()) {
    const char c = peek();
    if (c == '#') {
      while (!at_line_end()) ++position_;
    } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
      ++position_;
    } else {
      return;
    }
  }
}

std::string_view GbnfReader::read_name() {
  const std::size_t begin = position_;
  while (!at_end() && is_name_character(peek())) ++position_;
  return text_.substr(begin, position_ - begin);
}

char32_t GbnfReader::read_character() {
  if (peek() != '\\') {
    const char32_t code_point = first_code_point(text_.substr(position_));
    position_ += utf8_character_length(text_.substr(position_));
    return code_point;
  }
  const std::size_t begin = position_++;
  const char c = peek();
  if (!at_line_end()) ++position_;
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case '\\':
    case '"':
    case '[':
    case ']':
    case '-':
    case '^':
    case '/':
      return static_cast<char32_t>(c);
    case 'x':
      return read_hexadecimal(begin, 2);
    case 'u':
      return read_hexadecimal(begin, 4);
    case 'U':
      return read_hexadecimal(begin, 8);
    default:
      break;
  }
  fail(begin, "unknown escape; use one of \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\/ \\xHH \\uHHHH \\UHHHHHHHH");
}

char32_t GbnfReader::read_hexadecimal(std::size_t begin, std::size_t num_digits) {
  char32_t value = 0;
  for (std::size_t i = 0; i < num_digits; ++i) {
    const char c = peek();
    char32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<char32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<char32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<char32_t>(c - 'A' + 10);
    } else {
      fail(begin, fmt::format("this escape needs {} hexadecimal digits", num_digits));
    }
    value = value << 4 | digit;
    ++position_;
  }
  if (value > kLastCodePoint || (value >= kFirstSurrogate && value <= kLastSurrogate)) {
    fail(begin, "this escape is no Unicode character; choose one up to 10FFFF outside D800 to DFFF");
  }
  return value;
}

std::uint32_t GbnfReader::read_count() {
  skip_space(false);
  const std::size_t begin = position_;
  std::uint32_t count = 0;
  while (peek() >= '0' && peek() <= '9') {
    count = std::min(count * 10 + static_cast<std::uint32_t>(peek() - '0'), kMaxRepetitions + 1);
    ++position_;
  }
  if (position_ == begin)
    fail(begin, fmt::format("expected a count, found {}; write {{2}}, {{2,}} or {{2,5}}", next_text()));
  if (count > kMaxRepetitions) {
    fail(begin, fmt::format("the count {} is above {}; choose a smaller one, or * for any number",
                            quoted_text(text_.substr(begin, position_ - begin)), kMaxRepetitions));
  }
  return count;
}

}  // namespace semfuse
