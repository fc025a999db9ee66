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

// How many bytes of the text are valid UTF-8 before the first that is not; its size if all are.
std::size_t valid_utf8_prefix(std::string_view text);

// Of one valid UTF-8 character.
char32_t code_point(std::string_view character);

// Does one valid UTF-8 character act on its reader instead of being seen: a control character, a line separator, or one
// that turns the direction of the text around it? A terminal obeys such a character, and a name can lie with one. All
// of them have at most four hexadecimal digits.
bool is_unsafe_to_show(std::string_view character);

}  // namespace semfuse
