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
// Outside of these COLUMNS is a mistake.
constexpr std::size_t kNarrowest = 20;
constexpr std::size_t kWidest = 10'000;

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
  const char* columns = is_terminal_ ? nullptr : std::getenv("COLUMNS");
  const std::size_t width = columns == nullptr ? 0 : std::strtoul(columns, nullptr, 10);
  return kNarrowest <= width && width <= kWidest ? width : kUsualWidth;
}

std::string Terminal::flowed(std::string_view sentence, std::size_t indent) const {
  return is_terminal_ ? broken(sentence, width(), indent) : std::string(sentence);
}

std::string Terminal::flowed_lines(std::string_view text) const {
  if (!is_terminal_) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool fits = num_characters(line) <= width();
    result += fits ? std::string(line) : broken(line, width(), std::min(line.find_first_not_of(' '), end) + 2);
    text.remove_prefix(end);
    if (text.empty()) break;
    result += '\n';
    text.remove_prefix(1);
  }
  return result;
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

void notify(std::string_view sentence) {
  const Terminal terminal(stderr);
  terminal.print(terminal.flowed(fmt::format("semfuse: {}", printable(sentence))) + '\n');
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(i));
    if (length == 0 || is_unsafe_to_show(text.substr(i, length))) {
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

std::string counted(std::uint64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", with_separators(number), thing, number == 1 ? "" : "s");
}

std::string readable(double number, int digits) {
  constexpr double kTooLong = 1e6;
  return std::abs(number) < kTooLong ? fmt::format("{:.{}f}", number, digits) : fmt::format("{:.4g}", number);
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

namespace {

// The end of the word that the text begins with. A command in backquotes, which a person will copy, is one word where a
// line of `room` can hold it.
std::size_t end_of_word(std::string_view text, std::size_t room) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (std::ranges::count(text.substr(0, end), '`') % 2 == 0) return end;
  const std::size_t closing = text.find('`', end);
  const std::size_t whole = closing == text.npos ? end : std::min(text.find(' ', closing), text.size());
  return num_characters(text.substr(0, whole)) <= room ? whole : end;
}

}  // namespace

std::string broken(std::string_view text, std::size_t width, std::size_t indent, std::size_t first) {
  std::string result;
  std::size_t column = first;
  std::size_t line_begin = first;
  const auto new_line = [&] {
    result += '\n' + std::string(indent, ' ');
    column = line_begin = indent;
  };
  for (; text.starts_with(' '); text.remove_prefix(1)) {
    result += ' ';
    line_begin = ++column;
  }
  while (!text.empty()) {
    const std::size_t end = end_of_word(text, width - std::min(indent, width));
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool continues = column > line_begin;
    if (continues && column + 1 + num_characters(word) > width) {
      new_line();
    } else if (continues) {
      result += ' ';
      ++column;
    }
    for (; !word.empty(); ++column) {
      if (column >= width && column > line_begin) new_line();
      const std::size_t length = std::max<std::size_t>(utf8_character_length(word), 1);
      result += word.substr(0, length);
      word.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace semfuse
