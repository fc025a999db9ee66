// The checksum that a safetensors file may carry in its metadata: the CRC-32 of all its bytes, its own eight digits
// taken as zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/checksum.h"

namespace semfuse {

inline constexpr std::string_view kChecksumKey = "semfuse_checksum";
inline constexpr std::string_view kBlankChecksum = "00000000";

// Where in the file's head (length and header) the digits begin; nothing if there is no such entry or more than one.
std::optional<std::size_t> find_checksum(std::string_view head);

// Eight hexadecimal digits.
std::string checksum_text(std::uint32_t value);

// Throws Error if the bytes of the file do not have the checksum that they declare.
void check_checksum(std::string_view bytes, std::size_t head_size, std::string_view declared, std::string_view origin);

}  // namespace semfuse
