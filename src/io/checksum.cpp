#include "io/checksum.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace semfuse {
namespace {

constexpr std::size_t kStride = 8;  // Bytes that one round takes.
using Tables = std::array<std::array<std::uint32_t, 256>, kStride>;

// tables[k][b] is what byte b contributes when k more bytes follow it in the round.
constexpr Tables make_tables() {
  constexpr std::uint32_t kPolynomial = 0xEDB88320U;
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1U) != 0 ? kPolynomial : 0U);
    tables[0][byte] = state;
  }
  for (std::size_t k = 1; k < kStride; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFFU];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

void Crc32::add(std::string_view bytes) {
  std::uint32_t state = state_;
  while (bytes.size() >= kStride) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), kStride);
    eight ^= state;
    state = 0;
    for (std::size_t i = 0; i < kStride; ++i) state ^= kTables[kStride - 1 - i][(eight >> (8 * i)) & 0xFFU];
    bytes.remove_prefix(kStride);
  }
  for (const char byte : bytes) state = (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(byte)) & 0xFFU];
  state_ = state;
}

std::string checksum_bytes(std::string_view bytes) {
  Crc32 checksum;
  checksum.add(bytes);
  std::string result;
  for (std::size_t i = 0; i < kChecksumSize; ++i) result.push_back(static_cast<char>(checksum.value() >> (8 * i)));
  return result;
}

}  // namespace semfuse
