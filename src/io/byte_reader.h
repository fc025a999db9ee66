// Binary data from outside, taken in order and never past its end.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace semfuse {

// Does not own the bytes.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string origin) : bytes_(bytes), origin_(std::move(origin)) {}

  // Throws Error as "origin: what; next".
  [[noreturn]] void fail(std::string_view what, std::string_view next = "fetch the file again") const;

  // The next bytes, which are `what`. Throws Error if there are not so many.
  std::span<const std::byte> take(std::size_t size, std::string_view what);
  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }
  std::string_view text(std::size_t size, std::string_view what) {
    const std::span<const std::byte> bytes = take(size, what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  std::size_t place() const { return place_; }
  std::size_t left() const { return bytes_.size() - place_; }

 private:
  std::span<const std::byte> bytes_;
  std::string origin_;
  std::size_t place_ = 0;
};

}  // namespace semfuse
