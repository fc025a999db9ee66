#include "grammar/grammar_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse {

std::string GrammarText::place(std::size_t offset) const {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_break = before.rfind('\n');
  const std::string_view line = line_break == std::string_view::npos ? before : before.substr(line_break + 1);
  const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  const auto column = 1 + std::count_if(line.begin(), line.end(), begins_character);
  return fmt::format("{}:{}:{}", origin, line_of(offset), column);
}

void GrammarText::fail(std::size_t offset, const std::string& what) const {
  throw Error(fmt::format("{}: {}", place(offset), what));
}

std::size_t GrammarText::line_of(std::size_t offset) const {
  const std::string_view before = text.substr(0, offset);
  return 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace semfuse
