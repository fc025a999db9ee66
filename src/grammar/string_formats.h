// The values of JSON Schema's "format" that a grammar can say.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semfuse {

// A regular expression that matches the whole string; nothing for a format that is not known.
std::optional<std::string> regex_of_format(std::string_view name);

std::string known_formats();  // "date, time, ..."

}  // namespace semfuse
