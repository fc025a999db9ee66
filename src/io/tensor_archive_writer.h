// Writes named tensors and text metadata as a safetensors file, the same bytes for the same content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "io/tensor_info.h"

namespace semfuse {

// Collects tensors and writes them in the order they were added, metadata sorted by key, so that equal content gives
// equal bytes. The numbers are not copied: they must live until encode() or save().
class TensorArchiveWriter {
 public:
  // Throws Error for the key of the checksum.
  void set_metadata(std::string key, std::string value);

  // Lets the file carry a checksum of all its bytes, which TensorArchive checks.
  void add_checksum() { has_checksum_ = true; }

  // Throws Error if the name is taken or reserved; asserts that the shape fits the number of elements.
  void add(std::string name, std::vector<std::size_t> shape, std::span<const float> values);
  void add(std::string name, std::vector<std::size_t> shape, std::span<const std::int32_t> values);

  // Numbers of any type as their bytes, row-major and little-endian.
  void add(std::string name, std::vector<std::size_t> shape, DType dtype, std::span<const std::byte> bytes);

  // Numbers that are made while the file is written, so that they need not be in memory all at once: `produce` must
  // hand over as many bytes as the shape needs. Not together with a checksum, which comes before the numbers.
  using Producer = std::function<void(const ByteSink&)>;
  void add(std::string name, std::vector<std::size_t> shape, DType dtype, Producer produce);

  // The bytes of the file. Throws Error if a name or metadata is not UTF-8.
  std::string encode() const;

  // Writes the file atomically. Throws Error.
  void save(const std::filesystem::path& path, FileLayer& files = FileLayer::system()) const;

 private:
  void declare(std::string name, std::vector<std::size_t> shape, DType dtype);
  void write(const ByteSink& sink) const;
  std::string header() const;

  std::map<std::string, std::string> metadata_;
  std::vector<TensorInfo> tensors_;
  std::set<std::string> names_;
  std::vector<std::string_view> pieces_;       // As tensors_; empty where there is a producer.
  std::map<std::size_t, Producer> producers_;  // By place in tensors_.
  bool has_checksum_ = false;
};

}  // namespace semfuse
