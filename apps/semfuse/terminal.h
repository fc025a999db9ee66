// What the commands print and how: checked output, colour only on a terminal, aligned tables, readable numbers.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Thrown when the reader of a pipe has left; the program then ends without a word.
struct BrokenPipe {};

// A standard stream.
class Terminal {
 public:
  explicit Terminal(std::FILE* file);

  bool is_terminal() const { return is_terminal_; }
  std::size_t width() const;  // Columns; 80 if unknown.

  // The text in a style on a terminal; unchanged elsewhere and when NO_COLOR is set.
  std::string bold(std::string_view text) const { return styled(text, "1"); }
  std::string dim(std::string_view text) const { return styled(text, "2"); }

  // Writes and flushes. Throws Error if the stream takes no more, BrokenPipe if its reader has left.
  void print(std::string_view text) const;

 private:
  std::string styled(std::string_view text, std::string_view code) const;

  std::FILE* file_;
  bool is_terminal_;
  bool has_colour_;
};

// Text from outside in one line: control characters and invalid UTF-8 become '?'.
std::string printable(std::string_view text);

// Number of UTF-8 characters, which is the number of columns for the scripts that tables are made for.
std::size_t num_characters(std::string_view text);

// 1234567 as "1,234,567".
std::string with_separators(std::uint64_t number);

// "0.4 s", "12 s", "1 min 5 s", "2 h 3 min".
std::string duration(double seconds);

// Words in lines of at most `width` characters, every line indented.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width);

// Rows of cells in aligned columns.
class Table {
 public:
  enum class Align { left, right };
  struct Cell {
    std::string text;
    bool dim = false;
  };

  // A column past the last of `alignments` takes the last one.
  explicit Table(std::vector<Align> alignments) : alignments_(std::move(alignments)) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  std::size_t width(std::size_t gap) const;
  std::string text(const Terminal& terminal, std::size_t indent, std::size_t gap) const;

 private:
  std::vector<std::size_t> column_widths() const;

  std::vector<Align> alignments_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace semfuse
