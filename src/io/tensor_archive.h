// Named tensors and text metadata read from one safetensors file: a strict reader of untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/tensor_info.h"

namespace semfuse {

// A whole archive in memory. Immutable; spans stay valid as long as the archive, also when it is moved.
class TensorArchive {
 public:
  // Checks everything that the header declares against the bytes before use; memory stays within a small multiple of
  // their number. Throws Error as "origin: what; what to do".
  static TensorArchive parse(std::vector<std::byte> bytes, std::string_view origin);
  static TensorArchive load(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Whether the file carries a checksum; a wrong one is refused. It is not among the metadata.
  bool has_checksum() const { return has_checksum_; }

  // The value of a metadata key. Throws Error if it is missing.
  const std::string& metadata(const std::string& key) const;

  // In the order of their data.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  // nullptr if there is no such tensor.
  const TensorInfo* find(std::string_view name) const;

  // Elements in row-major order. Throws Error if the tensor is missing or has another type.
  std::span<const float> floats(std::string_view name) const;
  std::span<const std::int32_t> ints(std::string_view name) const;

 private:
  template <typename T>
  std::span<const T> elements(std::string_view name, DType dtype) const;

  std::string origin_;
  std::map<std::string, std::string> metadata_;
  bool has_checksum_ = false;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, std::size_t, std::less<>> index_;    // Name to place in tensors_.
  std::vector<std::byte> data_;                              // Without the header.
  std::map<std::size_t, std::vector<std::byte>> realigned_;  // Copies of tensors whose begin is no multiple of 4.
};

}  // namespace semfuse
