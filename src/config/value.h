// A value of a configuration file, free of the TOML library.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace semfuse {

// A kind of value that no key takes, with its article: "a date".
struct ForeignValue {
  std::string kind;
};

struct Value {
  std::variant<bool, std::int64_t, double, std::string, std::vector<Value>, ForeignValue> content;

  template <typename T>
  const T* as() const {
    return std::get_if<T>(&content);
  }
};

// For messages, in one line: `the string "big"`, `the number 0.5`.
std::string describe(const Value& value);

// As TOML text that reads back as the same value; numbers in their shortest exact form. Not for a ForeignValue.
std::string to_toml(const Value& value);

}  // namespace semfuse
