#include "terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kUsualWidth = 80;

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_colour == nullptr || *no_colour == '\0') && term != nullptr && std::string_view(term) != "dumb";
}

}  // namespace

Terminal::Terminal(std::FILE* file)
    : file_(file), is_terminal_(::isatty(::fileno(file)) == 1), has_colour_(is_terminal_ && wants_colour()) {}

std::size_t Terminal::width() const {
  winsize size{};
  if (is_terminal_ && ::ioctl(::fileno(file_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return kUsualWidth;
}

void Terminal::print(std::string_view text) const {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file_) == text.size() && std::fflush(file_) == 0) return;
  const int code = errno;
  if (code == EPIPE) throw BrokenPipe();
  throw Error(fmt::format("cannot write to standard {}: {}", file_ == stdout ? "output" : "error",
                          std::generic_category().message(code)));
}

std::string Terminal::styled(std::string_view text, std::string_view code) const {
  return has_colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F are control characters too.
    const bool control =
        byte < 0x20 || byte == 0x7F || (length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    if (length == 0 || control) {
      result += '?';
    } else {
      result += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::size_t num_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++count) {
    i += std::max<std::size_t>(utf8_character_length(text.substr(i)), 1);
  }
  return count;
}

std::string with_separators(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string duration(double seconds) {
  if (seconds < 0.95) return fmt::format("{:.1f} s", std::max(seconds, 0.0));
  // Past every run, and still a number that fits.
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, 1e12)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", with_separators(whole / 3600), whole / 60 % 60);
}

std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width) {
  std::string text;
  std::size_t column = 0;
  for (const std::string& word : words) {
    const std::size_t length = num_characters(word);
    if (column == 0 || column + 1 + length > width) {
      if (column > 0) text += '\n';
      text += std::string(indent, ' ') + word;
      column = indent + length;
    } else {
      text += ' ' + word;
      column += 1 + length;
    }
  }
  return text + '\n';
}

std::vector<std::size_t> Table::column_widths() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], num_characters(row[i].text));
  }
  return widths;
}

std::size_t Table::width(std::size_t gap) const {
  std::size_t sum = 0;
  for (const std::size_t width : column_widths()) sum += width + gap;
  return sum < gap ? 0 : sum - gap;
}

std::string Table::text(const Terminal& terminal, std::size_t indent, std::size_t gap) const {
  const std::vector<std::size_t> widths = column_widths();
  std::string text;
  for (const auto& row : rows_) {
    text.append(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t padding = widths[i] - num_characters(row[i].text);
      const bool right = alignments_[std::min(i, alignments_.size() - 1)] == Align::right;
      if (right) text.append(padding, ' ');
      text += row[i].dim ? terminal.dim(row[i].text) : row[i].text;
      if (i + 1 == row.size()) break;
      text.append((right ? 0 : padding) + gap, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace semfuse
