// Whether HTML or SVG text is well formed, as far as a test of our own pages needs it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// What is wrong, with the text around it; empty if every tag is closed in its order and nothing is left unescaped.
inline std::string markup_fault(std::string_view text) {
  constexpr std::string_view kNeverClosed[] = {"!DOCTYPE", "meta", "br"};
  const auto fault = [&](std::string_view what, std::size_t at) {
    return fmt::format("{} at \"{}\"", what, text.substr(at, 60));
  };
  std::vector<std::string_view> open;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '>') return fault("a bare >", i);
    if (text[i] == '&') {
      const std::size_t end = text.find(';', i);
      if (end == text.npos || end - i > 7) return fault("a bare &", i);
      i = end + 1;
      continue;
    }
    if (text[i] != '<') {
      ++i;
      continue;
    }
    bool quoted = false;
    std::size_t end = i + 1;
    for (; end < text.size() && (quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') quoted = !quoted;
      if (text[end] == '<') return fault("a < inside a tag", i);
    }
    if (end == text.size()) return fault("a tag that does not end", i);
    const std::string_view tag = text.substr(i + 1, end - i - 1);
    const bool closing = tag.starts_with('/');
    const std::string_view name = tag.substr(closing ? 1 : 0, tag.find_first_of(" /", 1) - (closing ? 1 : 0));
    if (closing) {
      if (open.empty() || open.back() != name) return fault("a closing tag without its opening one", i);
      open.pop_back();
    } else if (!tag.ends_with('/') &&
               std::find(std::begin(kNeverClosed), std::end(kNeverClosed), name) == std::end(kNeverClosed)) {
      open.push_back(name);
    }
    i = end + 1;
  }
  return open.empty() ? std::string() : fmt::format("<{}> is not closed", open.back());
}

inline std::size_t count_of(std::string_view part, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace semfuse
