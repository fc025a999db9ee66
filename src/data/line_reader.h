// The lines of a file, with their numbers, in a buffer that does not grow past the longest line allowed.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "data/byte_source.h"

namespace semfuse {

// Lines end with \n or \r\n; the last one needs no end. A byte order mark in front is passed over. Not thread-safe.
class LineReader {
 public:
  LineReader(std::unique_ptr<ByteSource> source, std::size_t max_bytes);

  // Goes to the next line; false at the end of the file. Throws Error as ByteSource does, and for UTF-16.
  bool next();

  // Joins the line that follows to this one, with the line end between them. False, and nothing changes, at the end of
  // the file or if both were longer than allowed.
  bool extend();
  // Undoes extend(): the first of the lines is the line again, and those after it come next.
  void retract();

  // Without its end; valid until another function is called. Empty if it is too long.
  std::string_view line() const { return {buffer_.data() + begin_, size_}; }
  std::size_t number() const { return number_; }  // Of the (first) line, from 1.
  bool too_long() const { return too_long_; }     // Longer than allowed; its bytes were passed over.
  std::size_t max_bytes() const { return max_bytes_; }
  const ByteSource& source() const { return *source_; }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  bool fill();
  std::size_t find_end(std::size_t from);
  void end_at(std::size_t end);
  void pass_over_rest();

  std::unique_ptr<ByteSource> source_;
  std::size_t max_bytes_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;   // Where the line begins,
  std::size_t size_ = 0;    // its bytes without its end,
  std::size_t next_ = 0;    // where what follows begins,
  std::size_t filled_ = 0;  // and where the bytes that were read end.
  std::size_t first_next_ = 0;
  std::size_t number_ = 0;
  std::size_t num_lines_ = 1;  // That the line consists of.
  bool too_long_ = false;
};

}  // namespace semfuse
