#include "config/value.h"

#include <fmt/format.h>

#include <cassert>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

template <typename... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Match(Cases...) -> Match<Cases...>;

std::string float_to_toml(double number) {
  std::string text = fmt::format("{}", number);
  // Without a point or an exponent it would read back as an integer; nan and inf have an "n".
  if (text.find_first_of(".en") == text.npos) text += ".0";
  return text;
}

std::string string_to_toml(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string list_to_toml(const std::vector<Value>& list) {
  std::string result = "[";
  for (const Value& item : list) {
    if (result.size() > 1) result += ", ";
    result += to_toml(item);
  }
  return result + ']';
}

}  // namespace

std::string describe(const Value& value) {
  return std::visit(Match{[](bool truth) { return std::string(truth ? "true" : "false"); },
                          [](std::int64_t number) { return fmt::format("the number {}", number); },
                          [](double number) { return "the number " + float_to_toml(number); },
                          [](const std::string& text) { return "the string " + quoted_text(text); },
                          [](const std::vector<Value>& list) {
                            return list.size() == 1 ? "an array of 1 value"
                                                    : fmt::format("an array of {} values", list.size());
                          },
                          [](const ForeignValue& foreign) { return foreign.kind; }},
                    value.content);
}

std::string to_toml(const Value& value) {
  assert(value.as<ForeignValue>() == nullptr);
  return std::visit(Match{[](bool truth) { return std::string(truth ? "true" : "false"); },
                          [](std::int64_t number) { return fmt::format("{}", number); },
                          [](double number) { return float_to_toml(number); },
                          [](const std::string& text) { return string_to_toml(text); },
                          [](const std::vector<Value>& list) { return list_to_toml(list); },
                          [](const ForeignValue&) { return std::string(); }},
                    value.content);
}

}  // namespace semfuse
