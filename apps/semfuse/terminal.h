// What the commands print and how: checked output, colour only on a terminal, lines that fit, readable numbers.
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
  // Columns: the terminal's; elsewhere what COLUMNS says; 80 if nothing does.
  std::size_t width() const;

  // The text in a style on a terminal; unchanged elsewhere and when NO_COLOR is set.
  std::string bold(std::string_view text) const { return styled(text, "1"); }
  std::string dim(std::string_view text) const { return styled(text, "2"); }
  std::string green(std::string_view text) const { return styled(text, "32"); }
  std::string red(std::string_view text) const { return styled(text, "31"); }

  // A sentence as a terminal shows it, broken between words; elsewhere it stays one line, as a search wants it. Lines
  // after the first are indented.
  std::string flowed(std::string_view sentence, std::size_t indent = 0) const;

  // Lines of which those that a terminal cannot hold are broken in the same way.
  std::string flowed_lines(std::string_view text) const;

  // Writes and flushes. Throws Error if the stream takes no more, BrokenPipe if its reader has left.
  void print(std::string_view text) const;

 private:
  std::string styled(std::string_view text, std::string_view code) const;

  std::FILE* file_;
  bool is_terminal_;
  bool has_colour_;
};

// A sentence for the person at the terminal, on standard error: "semfuse: ...", with what acts on a terminal taken out.
void notify(std::string_view sentence);

// Text from outside in one line: control characters, those that turn its direction, and invalid UTF-8 become '?'.
std::string printable(std::string_view text);

// Number of UTF-8 characters, which is the number of columns for the scripts that tables are made for.
std::size_t num_characters(std::string_view text);

// 1234567 as "1,234,567".
std::string with_separators(std::uint64_t number);

// "1 step", "1,234 steps".
std::string counted(std::uint64_t number, std::string_view thing);

// With `digits` behind the point: "4.1250"; from a million on "1.149e+32", which a person can still read.
std::string readable(double number, int digits);

// "0.4 s", "12 s", "1 min 5 s", "2 h 3 min".
std::string duration(double seconds);

// The text with a new line instead of a space wherever a line would pass `width`; all lines but the first are indented.
// The first begins at column `first`. A word longer than a line is cut; a command in backquotes stays whole if it fits.
std::string broken(std::string_view text, std::size_t width, std::size_t indent = 0, std::size_t first = 0);

// Words in lines of at most `width` characters, every line indented.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width);

}  // namespace semfuse
