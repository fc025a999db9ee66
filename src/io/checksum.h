// CRC-32 as zlib, gzip and PNG compute it.
#pragma once

#include <cstdint>
#include <string_view>

namespace semfuse {

class Crc32 {
 public:
  void add(std::string_view bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xFFFFFFFFU;
};

}  // namespace semfuse
