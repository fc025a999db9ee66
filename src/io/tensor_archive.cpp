#include "io/tensor_archive.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "io/archive_checksum.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "io/tensor_header.h"
#include "semfuse/error.h"

namespace semfuse {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian and used as it is");

TensorArchive TensorArchive::parse(std::vector<std::byte> bytes, std::string_view origin) {
  TensorHeader header = parse_tensor_header(bytes, origin);
  if (header.checksum) {
    const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    check_checksum(whole, header.data_begin, *header.checksum, origin);
  }
  TensorArchive archive;
  archive.origin_ = origin;
  archive.metadata_ = std::move(header.metadata);
  archive.has_checksum_ = header.checksum.has_value();
  archive.tensors_ = std::move(header.tensors);

  // Without the header the data begins where the allocator aligned it.
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header.data_begin));
  archive.data_ = std::move(bytes);
  for (std::size_t i = 0; i < archive.tensors_.size(); ++i) {
    const TensorInfo& tensor = archive.tensors_[i];
    archive.index_.emplace(tensor.name, i);
    if (tensor.begin % alignof(float) != 0 && (tensor.dtype == DType::f32 || tensor.dtype == DType::i32)) {
      const std::byte* first = archive.data_.data() + tensor.begin;
      archive.realigned_.emplace(i, std::vector<std::byte>(first, first + (tensor.end - tensor.begin)));
    }
  }
  return archive;
}

TensorArchive TensorArchive::load(const std::filesystem::path& path) {
  return parse(read_bytes(path), path.string());
}

const std::string& TensorArchive::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) {
    throw Error(fmt::format("{}: no metadata {}; write the file anew", origin_, quoted_text(key)));
  }
  return found->second;
}

const TensorInfo* TensorArchive::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

template <typename T>
std::span<const T> TensorArchive::elements(std::string_view name, DType dtype) const {
  const auto found = index_.find(name);
  if (found == index_.end()) {
    throw Error(fmt::format("{}: no tensor {}; name a file that has it", origin_, quoted_text(name)));
  }
  const TensorInfo& tensor = tensors_[found->second];
  if (tensor.dtype != dtype) {
    throw Error(fmt::format("{}: tensor {} is {}; convert it to {}", origin_, quoted_text(name),
                            to_string(tensor.dtype), to_string(dtype)));
  }
  const auto copy = realigned_.find(found->second);
  const std::byte* first = copy == realigned_.end() ? data_.data() + tensor.begin : copy->second.data();
  return {reinterpret_cast<const T*>(first), tensor.size()};
}

std::span<const float> TensorArchive::floats(std::string_view name) const {
  return elements<float>(name, DType::f32);
}

std::span<const std::int32_t> TensorArchive::ints(std::string_view name) const {
  return elements<std::int32_t>(name, DType::i32);
}

}  // namespace semfuse
