// Bytes as characters that can be seen, as tokenizer.json writes them: 'a' is itself, a space is "Ġ".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semfuse {

// A UTF-8 string with one character for each byte.
std::string byte_characters(std::string_view bytes);

// The inverse. Nothing if some character stands for no byte, or if the string is not UTF-8.
std::optional<std::string> bytes_of_characters(std::string_view characters);

}  // namespace semfuse
