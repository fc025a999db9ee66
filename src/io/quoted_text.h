// Text from outside, made safe to show inside a one-line message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace semfuse {

// The text in double quotes: control characters and invalid UTF-8 escaped (\n, \x07), cut with "..." past max_bytes.
std::string quoted_text(std::string_view text, std::size_t max_bytes = 60);

// Length in bytes of the valid UTF-8 character at the start of text, or 0 if there is none.
std::size_t utf8_character_length(std::string_view text);

}  // namespace semfuse
