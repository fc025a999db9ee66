#include "wire/raw_json.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace semfuse {

namespace {

constexpr std::string_view kBlanks = " \t\r\n";

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

// With its quotes.
std::string_view take_string(std::string_view& text) {
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  const std::string_view taken = text.substr(0, end + 1);
  text.remove_prefix(taken.size());
  return taken;
}

std::string_view take_value(std::string_view& text) {
  const std::string_view all = text;
  std::size_t depth = 0;
  do {
    const char c = text.empty() ? '\0' : text.front();
    if (c == '"') {
      take_string(text);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    // A number or a word, as a whole, and what stands between values one by one.
    const std::size_t length = std::min(text.find_first_of(" \t\r\n,:{}[]\""), text.size());
    text.remove_prefix(std::min(std::max<std::size_t>(length, 1), text.size()));
  } while (depth > 0 && !text.empty());
  return all.substr(0, all.size() - text.size());
}

bool says(std::string_view quoted, std::string_view name) {
  if (quoted.find('\\') == quoted.npos) return quoted.substr(1, quoted.size() - 2) == name;
  return nlohmann::json::parse(quoted).get<std::string>() == name;
}

}  // namespace

std::string_view raw_member(std::string_view object, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (object.starts_with(kByteOrderMark)) object.remove_prefix(kByteOrderMark.size());
  skip_blanks(object);
  if (!object.starts_with('{')) return {};
  do {
    object.remove_prefix(1);  // The brace, or a comma.
    skip_blanks(object);
    if (!object.starts_with('"')) return {};
    const std::string_view key = take_string(object);
    skip_blanks(object);
    object.remove_prefix(std::min<std::size_t>(object.size(), 1));  // The colon.
    skip_blanks(object);
    const std::string_view value = take_value(object);
    if (says(key, name)) return value;
    skip_blanks(object);
  } while (object.starts_with(','));
  return {};
}

}  // namespace semfuse
