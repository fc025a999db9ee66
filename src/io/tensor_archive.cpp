#include "io/tensor_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "io/archive_checksum.h"
#include "io/file.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian and used as it is");

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // The format's own limit.
constexpr std::string_view kMetadataKey = "__metadata__";

// Reads one header; every failure names the file and, where there is one, the tensor.
class HeaderReader {
 public:
  HeaderReader(std::string_view origin, std::size_t data_size) : origin_(origin), data_size_(data_size) {}

  [[noreturn]] void fail(std::string_view what, std::string_view next = "write the file anew") const {
    throw Error(fmt::format("{}: {}; {}", origin_, what, next));
  }

  std::map<std::string, std::string> read_metadata(const json& object) const {
    if (!object.is_object()) fail("__metadata__ is not an object");
    std::map<std::string, std::string> metadata;
    for (const auto& [key, value] : object.items()) {
      if (!value.is_string()) fail(fmt::format("metadata {} is not a string", quoted_text(key)));
      metadata.emplace(key, value.get_ref<const std::string&>());
    }
    return metadata;
  }

  TensorInfo read_tensor(const std::string& name, const json& entry) const {
    TensorInfo tensor;
    tensor.name = name;
    if (!entry.is_object()) fail_tensor(name, "is not described by an object");
    for (const auto& [field, value] : entry.items()) {
      if (field != "dtype" && field != "shape" && field != "data_offsets") {
        fail_tensor(name, fmt::format("has the unknown field {}", quoted_text(field)));
      }
    }
    tensor.dtype = read_dtype(name, field_of(name, entry, "dtype"));
    tensor.shape = read_sizes(name, "shape", field_of(name, entry, "shape"));
    const std::vector<std::size_t> offsets = read_sizes(name, "data_offsets", field_of(name, entry, "data_offsets"));
    if (offsets.size() != 2) fail_tensor(name, fmt::format("has {} data_offsets instead of 2", offsets.size()));
    std::tie(tensor.begin, tensor.end) = std::pair(offsets[0], offsets[1]);
    if (tensor.begin > tensor.end) {
      fail_tensor(name, fmt::format("has reversed data_offsets [{}, {}]", tensor.begin, tensor.end));
    }
    if (tensor.end > data_size_) {
      fail_tensor(name, fmt::format("ends at byte {} of the data, which has only {}", tensor.end, data_size_),
                  "the file is cut short or damaged, fetch it again");
    }
    const std::size_t wanted = byte_size(tensor);
    if (wanted != tensor.end - tensor.begin) {
      fail_tensor(name, fmt::format("needs {} bytes by its shape, but its data_offsets hold {}", wanted,
                                    tensor.end - tensor.begin));
    }
    return tensor;
  }

  // The tensors, sorted by offset, must fill the data without overlap or hole.
  void check_layout(const std::vector<TensorInfo>& tensors) const {
    std::size_t filled = 0;
    for (const TensorInfo& tensor : tensors) {
      if (tensor.begin < filled) fail_tensor(tensor.name, "overlaps the tensor before it");
      if (tensor.begin > filled) {
        fail_tensor(tensor.name, fmt::format("leaves a hole of {} bytes before it", tensor.begin - filled));
      }
      filled = tensor.end;
    }
    if (filled != data_size_) fail(fmt::format("{} bytes after the last tensor", data_size_ - filled));
  }

 private:
  [[noreturn]] void fail_tensor(std::string_view name, std::string_view what,
                                std::string_view next = "write the file anew") const {
    fail(fmt::format("tensor {} {}", quoted_text(name), what), next);
  }

  const json& field_of(std::string_view name, const json& entry, const char* field) const {
    const auto found = entry.find(field);
    if (found == entry.end()) fail_tensor(name, fmt::format("lacks the field {}", quoted_text(field)));
    return *found;
  }

  DType read_dtype(std::string_view name, const json& value) const {
    if (!value.is_string()) fail_tensor(name, "has a dtype that is not a string");
    const auto& text = value.get_ref<const std::string&>();
    if (const std::optional<DType> dtype = dtype_from_string(text)) return *dtype;
    fail_tensor(name, fmt::format("has the unknown dtype {}", quoted_text(text)), "convert it to F32");
  }

  std::vector<std::size_t> read_sizes(std::string_view name, std::string_view field, const json& value) const {
    if (!value.is_array()) fail_tensor(name, fmt::format("has a {} that is not an array", field));
    std::vector<std::size_t> sizes;
    sizes.reserve(value.size());
    for (const json& item : value) {
      // Negative, fractional and too large numbers have other types here.
      if (!item.is_number_unsigned()) {
        fail_tensor(name, fmt::format("has a {} with an entry that is no whole number from 0 to 2^64-1", field));
      }
      sizes.push_back(item.get<std::size_t>());
    }
    return sizes;
  }

  std::size_t byte_size(const TensorInfo& tensor) const {
    // Zeros are left for the end, so that a product which overflows without them is refused in any order.
    std::size_t bytes = size_of(tensor.dtype);
    bool empty = false;
    for (const std::size_t extent : tensor.shape) {
      empty |= extent == 0;
      if (extent != 0 && __builtin_mul_overflow(bytes, extent, &bytes)) {
        fail_tensor(tensor.name, "has a shape whose size overflows");
      }
    }
    return empty ? 0 : bytes;
  }

  std::string_view origin_;
  std::size_t data_size_;
};

}  // namespace

TensorArchive TensorArchive::parse(std::vector<std::byte> bytes, std::string_view origin) {
  constexpr std::string_view kNext = "this is no safetensors file, or it is damaged";
  const HeaderReader unsized(origin, 0);
  if (bytes.size() < kLengthBytes) {
    unsized.fail(fmt::format("has {} bytes, too few for a header length", bytes.size()), kNext);
  }
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), kLengthBytes);
  const std::size_t available = bytes.size() - kLengthBytes;
  if (header_size == 0) unsized.fail("header length is 0", kNext);
  if (header_size > available) {
    unsized.fail(fmt::format("header length {} is past the file's {} bytes", header_size, bytes.size()), kNext);
  }
  if (header_size > kMaxHeaderBytes) {
    unsized.fail(fmt::format("header length {} is above {}", header_size, kMaxHeaderBytes), kNext);
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, header_size);
  if (text.front() != '{') unsized.fail("header does not begin with \"{\"", kNext);

  TensorArchive archive;
  archive.origin_ = origin;
  const HeaderReader reader(origin, available - header_size);
  // Depth 3 is all that the format needs: the header, a tensor, its shape.
  const json header = parse_json(text, fmt::format("{}: header", origin), 3);
  if (!header.is_object()) reader.fail("header is not a JSON object", kNext);
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      archive.metadata_ = reader.read_metadata(entry);
    } else {
      archive.tensors_.push_back(reader.read_tensor(name, entry));
    }
  }
  std::sort(archive.tensors_.begin(), archive.tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  reader.check_layout(archive.tensors_);

  if (const auto declared = archive.metadata_.extract(std::string(kChecksumKey)); !declared.empty()) {
    const std::string_view whole(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    check_checksum(whole, kLengthBytes + header_size, declared.mapped(), origin);
    archive.has_checksum_ = true;
  }

  // Without the header the data begins where the allocator aligned it.
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(kLengthBytes + header_size));
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
