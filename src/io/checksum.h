// CRC-32 as zlib, gzip and PNG compute it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace semfuse {

class Crc32 {
 public:
  void add(std::string_view bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xFFFFFFFFU;
};

constexpr std::size_t kChecksumSize = 4;
// The checksum of these bytes as kChecksumSize bytes, the lowest first: what our own files end with.
std::string checksum_bytes(std::string_view bytes);

}  // namespace semfuse
