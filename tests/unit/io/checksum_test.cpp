#include "io/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace semfuse {
namespace {

std::uint32_t crc32_of(std::string_view bytes) {
  Crc32 checksum;
  checksum.add(bytes);
  return checksum.value();
}

// Bit by bit, as the polynomial is defined.
std::uint32_t plain_crc32(std::string_view bytes) {
  std::uint32_t state = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    state ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~state;
}

TEST(Crc32, KnownValues) {
  EXPECT_EQ(crc32_of(""), 0U);
  EXPECT_EQ(crc32_of("123456789"), 0xCBF43926U);
  EXPECT_EQ(crc32_of("The quick brown fox jumps over the lazy dog"), 0x414FA339U);
}

TEST(Crc32, EveryLengthAndEveryCut) {
  std::string bytes;
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(crc32_of(bytes), plain_crc32(bytes)) << i;
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      Crc32 checksum;
      checksum.add(std::string_view(bytes).substr(0, cut));
      checksum.add(std::string_view(bytes).substr(cut));
      EXPECT_EQ(checksum.value(), plain_crc32(bytes));
    }
    bytes += static_cast<char>(i * 37 + 130);
  }
}

}  // namespace
}  // namespace semfuse
