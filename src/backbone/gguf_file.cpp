#include "backbone/gguf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "io/byte_reader.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxName = 65535;

// Types of values, by their numbers.
enum ValueType : std::uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kText, kArray, kU64, kI64, kF64 };
constexpr std::array<std::size_t, 13> kValueSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct TensorType {
  std::uint32_t number;
  std::string_view name;
  std::size_t block;
  std::size_t bytes;
  std::optional<StorageType> storage;
};

constexpr std::array<TensorType, 34> kTensorTypes = {{{0, "F32", 1, 4, StorageType::f32},
                                                      {1, "F16", 1, 2, StorageType::f16},
                                                      {2, "Q4_0", 32, 18, StorageType::q4_0},
                                                      {3, "Q4_1", 32, 20, StorageType::q4_1},
                                                      {6, "Q5_0", 32, 22, {}},
                                                      {7, "Q5_1", 32, 24, {}},
                                                      {8, "Q8_0", 32, 34, StorageType::q8_0},
                                                      {9, "Q8_1", 32, 36, {}},
                                                      {10, "Q2_K", 256, 84, {}},
                                                      {11, "Q3_K", 256, 110, {}},
                                                      {12, "Q4_K", 256, 144, StorageType::q4_k},
                                                      {13, "Q5_K", 256, 176, StorageType::q5_k},
                                                      {14, "Q6_K", 256, 210, StorageType::q6_k},
                                                      {15, "Q8_K", 256, 292, {}},
                                                      {16, "IQ2_XXS", 256, 66, {}},
                                                      {17, "IQ2_XS", 256, 74, {}},
                                                      {18, "IQ3_XXS", 256, 98, {}},
                                                      {19, "IQ1_S", 256, 50, {}},
                                                      {20, "IQ4_NL", 32, 18, {}},
                                                      {21, "IQ3_S", 256, 110, {}},
                                                      {22, "IQ2_S", 256, 82, {}},
                                                      {23, "IQ4_XS", 256, 136, {}},
                                                      {24, "I8", 1, 1, {}},
                                                      {25, "I16", 1, 2, {}},
                                                      {26, "I32", 1, 4, {}},
                                                      {27, "I64", 1, 8, {}},
                                                      {28, "F64", 1, 8, {}},
                                                      {29, "IQ1_M", 256, 56, {}},
                                                      {30, "BF16", 1, 2, StorageType::bf16},
                                                      {34, "TQ1_0", 256, 54, {}},
                                                      {35, "TQ2_0", 256, 66, {}},
                                                      {39, "MXFP4", 32, 17, {}},
                                                      {40, "NVFP4", 64, 36, {}},
                                                      {41, "Q1_0", 128, 18, {}}}};

const TensorType* find_type(std::uint32_t number) {
  const auto* found =
      std::find_if(kTensorTypes.begin(), kTensorTypes.end(), [&](const TensorType& t) { return t.number == number; });
  return found == kTensorTypes.end() ? nullptr : found;
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Of a numeric type.
double as_double(std::uint32_t type, const std::byte* bytes) {
  switch (type) {
    case kU8:
      return load<std::uint8_t>(bytes);
    case kI8:
      return load<std::int8_t>(bytes);
    case kU16:
      return load<std::uint16_t>(bytes);
    case kI16:
      return load<std::int16_t>(bytes);
    case kU32:
      return load<std::uint32_t>(bytes);
    case kI32:
      return load<std::int32_t>(bytes);
    case kF32:
      return load<float>(bytes);
    case kU64:
      return static_cast<double>(load<std::uint64_t>(bytes));
    case kI64:
      return static_cast<double>(load<std::int64_t>(bytes));
    default:
      return load<double>(bytes);
  }
}

}  // namespace

class GgufFile::Parser {
 public:
  Parser(GgufFile& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes), reader_(bytes, file.origin_) {}

  void parse() {
    if (reader_.text(4, "magic") != "GGUF") reader_.fail("does not begin with \"GGUF\"", "give a GGUF file");
    file_.version_ = reader_.number<std::uint32_t>("version");
    if (file_.version_ != 2 && file_.version_ != 3) {
      const bool swapped = file_.version_ == 0x02000000 || file_.version_ == 0x03000000;
      reader_.fail(swapped ? "is a big-endian GGUF file" : fmt::format("is GGUF version {}", file_.version_),
                   "little-endian files of versions 2 and 3 can be read");
    }
    const auto num_tensors = reader_.number<std::uint64_t>("number of tensors");
    const auto num_values = reader_.number<std::uint64_t>("number of values");
    // Each takes some bytes at least, which keeps what is allocated within the file's size.
    if (num_tensors > reader_.left() / 24)
      reader_.fail(fmt::format("{} tensors in {} bytes", num_tensors, reader_.left()));
    if (num_values > reader_.left() / 13)
      reader_.fail(fmt::format("{} values in {} bytes", num_values, reader_.left()));
    for (std::uint64_t i = 0; i < num_values; ++i) read_value();
    std::set<std::string_view> names;
    std::vector<std::uint64_t> offsets;
    for (std::uint64_t i = 0; i < num_tensors; ++i) offsets.push_back(read_tensor());
    for (const GgufTensor& tensor : file_.tensors_) {
      if (!names.insert(tensor.name).second)
        reader_.fail(fmt::format("two tensors are named {}", quoted_text(tensor.name)));
    }
    place_tensors(offsets);
  }

 private:
  std::string_view read_text(std::string_view what) { return reader_.text(reader_.number<std::uint64_t>(what), what); }

  std::string read_name(std::string_view what) {
    const std::string_view name = read_text(what);
    if (name.empty() || name.size() > kMaxName) reader_.fail(fmt::format("a {} has {} bytes", what, name.size()));
    if (valid_utf8_prefix(name) != name.size())
      reader_.fail(fmt::format("{} {} is not UTF-8", what, quoted_text(name)));
    return std::string(name);
  }

  void read_value() {
    std::string key = read_name("key");
    const auto type = reader_.number<std::uint32_t>("type of a value");
    const Value value = read_value_of(type, quoted_text(key));
    if (!file_.values_.emplace(key, value).second) {
      reader_.fail(fmt::format("key {} appears twice", quoted_text(key)));
    }
  }

  Value read_value_of(std::uint32_t type, const std::string& key) {
    if (type >= kValueSizes.size()) reader_.fail(fmt::format("{} has the unknown type {}", key, type));
    if (type == kText) return read_text(key);
    if (type == kArray) return read_array(key, 0);
    const std::span<const std::byte> bytes = reader_.take(kValueSizes[type], key);
    switch (type) {
      case kU8:
        return std::uint64_t{load<std::uint8_t>(bytes.data())};
      case kU16:
        return std::uint64_t{load<std::uint16_t>(bytes.data())};
      case kU32:
        return std::uint64_t{load<std::uint32_t>(bytes.data())};
      case kU64:
        return load<std::uint64_t>(bytes.data());
      case kI8:
        return std::int64_t{load<std::int8_t>(bytes.data())};
      case kI16:
        return std::int64_t{load<std::int16_t>(bytes.data())};
      case kI32:
        return std::int64_t{load<std::int32_t>(bytes.data())};
      case kI64:
        return load<std::int64_t>(bytes.data());
      case kBool:
        if (load<std::uint8_t>(bytes.data()) > 1) reader_.fail(fmt::format("{} is neither true nor false", key));
        return load<std::uint8_t>(bytes.data()) == 1;
      default:
        return as_double(type, bytes.data());
    }
  }

  Value read_array(const std::string& key, int depth) {
    constexpr int kMaxDepth = 4;
    const auto type = reader_.number<std::uint32_t>("type of a list");
    const auto count = reader_.number<std::uint64_t>("length of a list");
    if (type >= kValueSizes.size()) reader_.fail(fmt::format("{} is a list of the unknown type {}", key, type));
    const std::size_t least = type == kText ? 8 : type == kArray ? 12 : kValueSizes[type];
    if (count > reader_.left() / least) {
      reader_.fail(fmt::format("{} is a list of {} in {} bytes", key, count, reader_.left()));
    }
    const std::size_t begin = reader_.place();
    if (type == kArray) {
      if (depth == kMaxDepth) reader_.fail(fmt::format("{} nests deeper than {}", key, kMaxDepth));
      for (std::uint64_t i = 0; i < count; ++i) read_array(key, depth + 1);
      return Nested();
    }
    if (type == kText) {
      for (std::uint64_t i = 0; i < count; ++i) read_text(key);
    } else {
      reader_.take(count * kValueSizes[type], key);
    }
    return Array{type, count, bytes_.subspan(begin, reader_.place() - begin)};
  }

  // Returns where its data begins, counted from that of the first.
  std::uint64_t read_tensor() {
    GgufTensor tensor;
    tensor.name = read_name("tensor's name");
    const std::string name = quoted_text(tensor.name);
    const auto num_extents = reader_.number<std::uint32_t>(name);
    if (num_extents < 1 || num_extents > 4) {
      reader_.fail(fmt::format("tensor {} has {} dimensions", name, num_extents));
    }
    for (std::uint32_t i = 0; i < num_extents; ++i) {
      tensor.shape.insert(tensor.shape.begin(), reader_.number<std::uint64_t>(name));
    }
    tensor.type = reader_.number<std::uint32_t>(name);
    const auto offset = reader_.number<std::uint64_t>(name);
    file_.tensors_.push_back(std::move(tensor));
    return offset;
  }

  std::size_t byte_size(const GgufTensor& tensor) const {
    const TensorType* type = find_type(tensor.type);
    if (type == nullptr) {
      reader_.fail(fmt::format("tensor {} has the unknown type {}", quoted_text(tensor.name), tensor.type),
                   "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q5_K and Q6_K can be read");
    }
    std::uint64_t size = tensor.shape.back() / type->block;
    bool overflow = __builtin_mul_overflow(size, type->bytes, &size);
    for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i)
      overflow |= __builtin_mul_overflow(size, tensor.shape[i], &size);
    const bool has_zero = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    if (overflow || has_zero || tensor.shape.back() % type->block != 0) {
      reader_.fail(fmt::format("tensor {} has a shape that {} cannot have", quoted_text(tensor.name), type->name));
    }
    return size;
  }

  // Data follows the header at a multiple of the alignment; tensors may lie in any order, but not on each other.
  void place_tensors(const std::vector<std::uint64_t>& offsets) {
    const std::uint64_t alignment = file_.whole("general.alignment").value_or(32);
    if (alignment < 1 || alignment > 1 << 20 || (alignment & (alignment - 1)) != 0) {
      reader_.fail(fmt::format("general.alignment is {}", alignment));
    }
    const std::size_t begin = (reader_.place() + alignment - 1) / alignment * alignment;
    if (file_.tensors_.empty()) return;
    if (begin > bytes_.size()) reader_.fail("has no data", "the file is cut short, fetch it again");
    const std::span<const std::byte> data = bytes_.subspan(begin);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      GgufTensor& tensor = file_.tensors_[i];
      const std::size_t size = byte_size(tensor);
      if (offsets[i] % alignment != 0) reader_.fail(fmt::format("tensor {} is not aligned", quoted_text(tensor.name)));
      if (offsets[i] > data.size() || size > data.size() - offsets[i]) {
        reader_.fail(fmt::format("tensor {} of {} bytes ends past the file", quoted_text(tensor.name), size),
                     "the file is cut short or damaged, fetch it again");
      }
      tensor.bytes = data.subspan(offsets[i], size);
      places.emplace_back(offsets[i], offsets[i] + size);
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i) {
      if (places[i].first < places[i - 1].second) reader_.fail("two tensors overlap");
    }
  }

  GgufFile& file_;
  std::span<const std::byte> bytes_;
  ByteReader reader_;
};

std::optional<StorageType> GgufTensor::storage_type() const {
  const TensorType* known = find_type(type);
  return known == nullptr ? std::nullopt : known->storage;
}

std::string gguf_type_name(std::uint32_t type) {
  const TensorType* known = find_type(type);
  return known == nullptr ? fmt::format("type {}", type) : std::string(known->name);
}

GgufFile::GgufFile(std::span<const std::byte> file, std::string origin) : origin_(std::move(origin)) {
  Parser(*this, file).parse();
}

void GgufFile::fail(std::string_view what, std::string_view next) const {
  throw Error(fmt::format("{}: {}; {}", origin_, what, next));
}

template <class T>
const T* GgufFile::find(std::string_view key, std::string_view wanted) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) fail(fmt::format("{} is not {}", key, wanted), "fetch the file again");
  return value;
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const auto* value = find<std::string_view>(key, "text");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::uint64_t> GgufFile::whole(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&found->second); value != nullptr && *value >= 0) {
    return static_cast<std::uint64_t>(*value);
  }
  return *find<std::uint64_t>(key, "a whole number from 0 on");
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  if (const auto* value = std::get_if<std::uint64_t>(&found->second)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<std::int64_t>(&found->second)) return static_cast<double>(*value);
  const double value = *find<double>(key, "a number");
  if (!std::isfinite(value)) fail(fmt::format("{} is not finite", key), "fetch the file again");
  // Written as a float: 1e-5 should not become 9.999999747378752e-06.
  return static_cast<double>(static_cast<float>(value)) == value
             ? std::stod(fmt::format("{}", static_cast<float>(value)))
             : value;
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const auto* value = find<bool>(key, "true or false");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  const auto* array = find<Array>(key, "a list");
  if (array == nullptr) return std::nullopt;
  if (array->type != kText) fail(fmt::format("{} is no list of texts", key), "fetch the file again");
  ByteReader reader(array->bytes, origin_);
  std::vector<std::string_view> texts;
  texts.reserve(array->count);
  for (std::uint64_t i = 0; i < array->count; ++i) texts.push_back(reader.text(reader.number<std::uint64_t>(key), key));
  return texts;
}

std::optional<std::vector<double>> GgufFile::numbers(std::string_view key) const {
  const auto* array = find<Array>(key, "a list");
  if (array == nullptr) return std::nullopt;
  if (array->type == kText || array->type == kBool)
    fail(fmt::format("{} is no list of numbers", key), "fetch the file again");
  std::vector<double> numbers;
  numbers.reserve(array->count);
  for (std::uint64_t i = 0; i < array->count; ++i) {
    numbers.push_back(as_double(array->type, array->bytes.data() + i * kValueSizes[array->type]));
  }
  return numbers;
}

}  // namespace semfuse
