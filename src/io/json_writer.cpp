#include "io/json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

// What stands in a string as it is, byte by byte.
bool is_plain_ascii(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

void write_string(std::string& text, std::string_view value) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kShortNames = "\"\\bfnrt";
  text += '"';
  while (true) {
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(value, is_plain_ascii) - value.begin());
    text += value.substr(0, plain);
    value.remove_prefix(plain);
    if (value.empty()) break;
    const std::size_t length = utf8_character_length(value);
    const std::string_view character = value.substr(0, length);
    if (const std::size_t i = length == 1 ? kShort.find(value.front()) : kShort.npos; i != kShort.npos) {
      text += {'\\', kShortNames[i]};
    } else if (length == 0) {
      text += "\xEF\xBF\xBD";
    } else if (is_unsafe_to_show(character)) {
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(code_point(character)));
    } else {
      text += character;
    }
    value.remove_prefix(std::max<std::size_t>(1, length));
  }
  text += '"';
}

void write_number(std::string& text, double value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  const std::size_t start = text.size();
  fmt::format_to(std::back_inserter(text), "{}", value);
  if (text.find_first_of(".e", start) == text.npos) text += ".0";  // Stays a number with a fraction for its reader.
}

}  // namespace

void append_json(std::string& text, std::string_view value) {
  write_string(text, value);
}

Json& Json::operator[](std::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Members();
  Members& members = std::get<Members>(value_);
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& m) { return m.first == name; });
  return found != members.end() ? found->second : members.emplace_back(std::string(name), Json()).second;
}

void Json::push_back(Json item) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Items();
  std::get<Items>(value_).push_back(std::move(item));
}

std::string Json::dump(int indent) const {
  std::string text;
  write(text, indent, 0);
  return text;
}

void Json::write(std::string& text, int indent, int depth) const {
  const auto new_line = [&](int at) {
    if (indent >= 0) text.append(1, '\n').append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(at), ' ');
  };
  const auto write_all = [&](char open, char close, const auto& all, const auto& write_one) {
    text += open;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i > 0) text += ',';
      new_line(depth + 1);
      write_one(all[i]);
    }
    if (!all.empty()) new_line(depth);
    text += close;
  };
  if (std::holds_alternative<std::monostate>(value_)) {
    text += "null";
  } else if (const auto* truth = std::get_if<bool>(&value_)) {
    text += *truth ? "true" : "false";
  } else if (const auto* whole = std::get_if<std::int64_t>(&value_)) {
    text += std::to_string(*whole);
  } else if (const auto* count = std::get_if<std::uint64_t>(&value_)) {
    text += std::to_string(*count);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    write_number(text, *number);
  } else if (const auto* string = std::get_if<std::string>(&value_)) {
    write_string(text, *string);
  } else if (const auto* items = std::get_if<Items>(&value_)) {
    write_all('[', ']', *items, [&](const Json& item) { item.write(text, indent, depth + 1); });
  } else if (const auto* members = std::get_if<Members>(&value_)) {
    write_all('{', '}', *members, [&](const Member& member) {
      write_string(text, member.first);
      text += indent >= 0 ? ": " : ":";
      member.second.write(text, indent, depth + 1);
    });
  }
}

}  // namespace semfuse
