// Walks through the text of a grammar: characters with their escapes, names, counts, and the space between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "grammar/grammar_text.h"

namespace semfuse {

bool is_name_character(char c);

// Reads from the front to the end; the text must outlive it. What cannot be read throws Error with its place.
class GbnfReader {
 public:
  // Begins behind a byte order mark.
  explicit GbnfReader(const GrammarText& source);

  // Throws unless the text is UTF-8 and not too long.
  void check_bytes() const;

  std::string_view text() const { return text_; }
  std::size_t position() const { return position_; }
  std::string_view rest() const { return text_.substr(position_); }
  bool at_end() const { return position_ == text_.size(); }
  bool at_line_end() const { return at_end() || peek() == '\n' || peek() == '\r'; }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  // How the text goes on, for messages.
  std::string next_text() const;

  // Returns the position before.
  std::size_t skip(std::size_t bytes = 1) { return (position_ += bytes) - bytes; }
  void go_back(std::size_t position) { position_ = position; }
  // Spaces and comments; with `lines`, line ends too.
  void skip_space(bool lines);

  std::string_view read_name();  // Empty if none stands here.
  // One character of a literal or class, which is not at its end.
  char32_t read_character();
  std::uint32_t read_count();  // Of repetitions.

  std::size_t line_of(std::size_t offset) const { return source_.line_of(offset); }
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const { source_.fail(offset, what); }

 private:
  char32_t read_hexadecimal(std::size_t begin, std::size_t num_digits);

  const GrammarText& source_;
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace semfuse
