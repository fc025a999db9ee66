// SHA-256, which names what was read so that it can be known again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace semfuse {

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);

  // Of all that was added: 64 hexadecimal digits. Nothing can be added afterwards.
  std::string digest();

 private:
  void mix(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
  std::array<std::byte, 64> pending_ = {};
  std::uint64_t size_ = 0;  // Bytes so far; those past the last whole block are pending.
};

}  // namespace semfuse
