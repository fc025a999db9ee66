#include "io/tensor_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#include "io/archive_checksum.h"
#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxHeaderBytes = 100'000'000;  // The format's own limit.

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

TensorHeader parse_tensor_header(std::span<const std::byte> file, std::string_view origin) {
  constexpr std::string_view kNext = "this is no safetensors file, or it is damaged";
  const HeaderReader unsized(origin, 0);
  if (file.size() < kHeaderLengthBytes) {
    unsized.fail(fmt::format("has {} bytes, too few for a header length", file.size()), kNext);
  }
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), kHeaderLengthBytes);
  const std::size_t available = file.size() - kHeaderLengthBytes;
  if (header_size == 0) unsized.fail("header length is 0", kNext);
  if (header_size > available) {
    unsized.fail(fmt::format("header length {} is past the file's {} bytes", header_size, file.size()), kNext);
  }
  if (header_size > kMaxHeaderBytes) {
    unsized.fail(fmt::format("header length {} is above {}", header_size, kMaxHeaderBytes), kNext);
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kHeaderLengthBytes, header_size);
  if (text.front() != '{') unsized.fail("header does not begin with \"{\"", kNext);

  TensorHeader result;
  result.data_begin = kHeaderLengthBytes + header_size;
  const HeaderReader reader(origin, available - header_size);
  // Depth 3 is all that the format needs: the header, a tensor, its shape.
  const json header = parse_json(text, fmt::format("{}: header", origin), 3);
  if (!header.is_object()) reader.fail("header is not a JSON object", kNext);
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadataKey) {
      result.metadata = reader.read_metadata(entry);
    } else {
      result.tensors.push_back(reader.read_tensor(name, entry));
    }
  }
  std::sort(result.tensors.begin(), result.tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  reader.check_layout(result.tensors);

  if (auto declared = result.metadata.extract(std::string(kChecksumKey)); !declared.empty()) {
    result.checksum = std::move(declared.mapped());
  }
  return result;
}

}  // namespace semfuse
