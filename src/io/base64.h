// Bytes as text of 64 characters (RFC 4648), for files whose members are text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace semfuse {

std::string to_base64(std::string_view bytes);

// Nothing unless to_base64() gives this very text: no other characters, no line breaks, padded with =.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace semfuse
