// Reads untrusted TOML text as a flat list of settings.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace semfuse {

inline constexpr std::size_t kMaxTomlBytes = 1 << 20;

// One `name = value`, or the header of a section.
struct Setting {
  std::optional<std::string> section;  // Nothing at the top level.
  std::optional<std::string> name;     // Nothing for a header.
  Value value;
  std::size_t line = 0;
  std::size_t column = 0;
};

// The settings in the order of the text. Throws Error as "origin:line:column: what; what to do" if it is not TOML,
// larger than kMaxTomlBytes or nested too deeply.
std::vector<Setting> read_toml(std::string_view text, std::string_view origin);

// The text as one TOML value, or nothing if it is not exactly that.
std::optional<Value> read_toml_value(std::string_view text);

}  // namespace semfuse
