// A safetensors file whose numbers stay in the file: mapped, not read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/mapped_file.h"
#include "io/tensor_header.h"

namespace semfuse {

// For files that nobody changes once they have their name. The header is checked as TensorArchive checks it; a checksum
// is not, since that would read the whole file. Immutable; spans stay valid as long as the archive, also when it is
// moved.
class MappedArchive {
 public:
  // Throws Error as "origin: what; what to do".
  explicit MappedArchive(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // In the order of their data.
  const std::vector<TensorInfo>& tensors() const { return header_.tensors; }
  // nullptr if there is no such tensor.
  const TensorInfo* find(std::string_view name) const;
  // Of one of tensors(): row-major, little-endian, with no alignment.
  std::span<const std::byte> bytes(const TensorInfo& tensor) const;

  std::span<const std::byte> file() const { return file_.as<std::byte>(); }

 private:
  MappedFile file_;
  TensorHeader header_;
  std::map<std::string, std::size_t, std::less<>> index_;  // Name to place in tensors().
};

}  // namespace semfuse
