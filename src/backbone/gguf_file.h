// The container GGUF, versions 2 and 3: key-value metadata and the places of tensors, all checked against the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/storage_type.h"

namespace semfuse {

struct GgufTensor {
  std::string name;
  std::vector<std::size_t> shape;  // Outermost first, so [rows, columns]; the file has it the other way round.
  std::uint32_t type = 0;          // As in the file.
  std::span<const std::byte> bytes;

  // Nothing if the type is not supported.
  std::optional<StorageType> storage_type() const;
};

// "Q4_K"; "type 77" if it has no known name.
std::string gguf_type_name(std::uint32_t type);

// Views into the bytes that it was made of, which must outlive it. Memory is less than a small multiple of the
// metadata's and at most a small multiple of the file's size.
class GgufFile {
 public:
  // Throws Error (origin: what; what to do) for everything that is not exactly such a file: cut short, overlapping,
  // unknown types of values, names twice. Tensors of types that are not supported are listed, but only if their size is
  // known.
  GgufFile(std::span<const std::byte> file, std::string origin);

  std::uint32_t version() const { return version_; }
  const std::string& origin() const { return origin_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }  // In the order of the file.

  bool has(std::string_view key) const { return values_.contains(key); }
  // Values by key. Nothing if the key is absent; throws Error if the value is of another kind.
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::uint64_t> whole(std::string_view key) const;  // Of any integer type, from 0 on.
  std::optional<double> number(std::string_view key) const;        // Of any numeric type; finite.
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;

  // Throws Error as "origin: what; next".
  [[noreturn]] void fail(std::string_view what, std::string_view next) const;

 private:
  struct Array {
    std::uint32_t type;
    std::uint64_t count;
    std::span<const std::byte> bytes;  // Of texts: with the length before each.
  };
  struct Nested {};  // Arrays of arrays: skipped.
  using Value = std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, Array, Nested>;
  class Parser;

  template <class T>
  const T* find(std::string_view key, std::string_view wanted) const;

  std::string origin_;
  std::uint32_t version_ = 0;
  std::map<std::string, Value, std::less<>> values_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace semfuse
