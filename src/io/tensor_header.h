// The header of a safetensors file: what it says of its tensors, checked against the bytes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_info.h"

namespace semfuse {

// A file begins with the length of its header, as a number of so many bytes.
inline constexpr std::size_t kHeaderLengthBytes = 8;
inline constexpr const char* kMetadataKey = "__metadata__";

struct TensorHeader {
  std::map<std::string, std::string> metadata;  // Without the checksum.
  std::vector<TensorInfo> tensors;              // In the order of their data, which they fill without overlap or hole.
  std::size_t data_begin = 0;                   // Bytes of the file before the data.
  std::optional<std::string> checksum;          // As declared; nobody has looked whether it is right.
};

// Of a whole file. Checks everything that the header declares before use; memory stays within a small multiple of the
// header's size. Throws Error as "origin: what; what to do".
TensorHeader parse_tensor_header(std::span<const std::byte> file, std::string_view origin);

}  // namespace semfuse
