// Parses JSON text that comes from outside, and helps to write some.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace semfuse {

// Throws Error (origin:line:column: what; what to do) if the text is not exactly one JSON value, nests deeper than
// max_depth arrays and objects, or an object has the same key twice. No other exception of the parser escapes.
nlohmann::json parse_json(std::string_view text, std::string_view origin, std::size_t max_depth = 64);

// JSON has no NaN and no infinity.
nlohmann::ordered_json finite_or_null(double value);

}  // namespace semfuse
