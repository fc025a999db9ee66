// Parses JSON text that comes from outside. What is written is a Json, of io/json_writer.h.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace semfuse {

// Throws Error (origin:line:column: what; what to do) if the text is not exactly one JSON value, nests deeper than
// max_depth arrays and objects, or an object has the same key twice. No other exception of the parser escapes.
nlohmann::json parse_json(std::string_view text, std::string_view origin, std::size_t max_depth = 64);

}  // namespace semfuse
