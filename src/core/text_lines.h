// The lines of a text that people wrote, on whatever system.
#pragma once

#include <algorithm>
#include <string_view>

namespace semfuse {

// Without the mark that some editors put before a text.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

// Cuts the first line off a text that is not empty, and gives it without its end: "\n" or "\r\n".
inline std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace semfuse
