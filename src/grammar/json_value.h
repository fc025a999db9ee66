// A JSON value as written: members in their order, numbers as their digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semfuse {

struct JsonValue {
  enum class Type : std::uint8_t { null, boolean, number, string, array, object };

  Type type = Type::null;
  bool truth = false;              // boolean
  std::string text;                // string: what it says; number: as written, or as short as it can be.
  std::vector<JsonValue> items;    // array; object: the values of its members.
  std::vector<std::string> names;  // object: of its members.

  bool is(Type other) const { return type == other; }
  const JsonValue* member(std::string_view name) const;  // Null if there is none.

  // Equal as JSON Schema sees it: 1 is 1.0, and the order of members does not matter.
  bool equals(const JsonValue& other) const;

  // Throws Error "origin:line:column: what" if the text is not one JSON value in UTF-8, nests deeper than `max_depth`,
  // or an object has the same name twice.
  static JsonValue parse(std::string_view text, std::string_view origin, std::size_t max_depth = 100);
};

// The string in quotes, with nothing escaped but what JSON wants.
std::string json_string(std::string_view utf8);

}  // namespace semfuse
