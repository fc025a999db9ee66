#include "core/storage_type.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/half_float.h"

namespace semfuse {
namespace {

constexpr std::uint16_t kOne = 0x3C00;  // As a half.

std::vector<float> decoded(StorageType type, const std::vector<unsigned char>& bytes, std::size_t size) {
  std::vector<float> row(size);
  decode_row(type, std::as_bytes(std::span(bytes)), row);
  return row;
}

void put_half(std::vector<unsigned char>& bytes, std::size_t place, std::uint16_t half) {
  std::memcpy(bytes.data() + place, &half, sizeof(half));
}

TEST(HalfFloat, EveryHalfSurvivesTheWayToAFloatAndBack) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(float_to_half(value), bits);
    }
  }
  EXPECT_EQ(half_to_float(kOne), 1.0F);
  EXPECT_EQ(half_to_float(1), 0x1p-24F);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), kOne) << "ties go to even";
}

TEST(StorageType, NamesComeBack) {
  for (const char* name : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q4_k", "q5_k", "q6_k", "q8_64"}) {
    const auto type = storage_type_from_string(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(to_string(*type), name);
  }
  EXPECT_FALSE(storage_type_from_string("q2_k"));
}

TEST(StorageType, EncodedRowsAreNearWhatTheyWere) {
  std::vector<float> row(256);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::sin(static_cast<float>(i * i)) * 3.0F;
  const auto worst = [&](StorageType type) {
    std::vector<std::byte> bytes(row_bytes(type, row.size()));
    encode_row(type, row, bytes);
    std::vector<float> back(row.size());
    decode_row(type, bytes, back);
    float error = 0;
    for (std::size_t i = 0; i < row.size(); ++i) error = std::max(error, std::abs(row[i] - back[i]));
    return error;
  };
  EXPECT_EQ(worst(StorageType::f32), 0.0F);
  EXPECT_LT(worst(StorageType::f16), 3.0F * 0x1p-11F);
  EXPECT_LT(worst(StorageType::bf16), 3.0F * 0x1p-8F);
  EXPECT_LT(worst(StorageType::q8_0), 0.51F * 3.0F / 127 + 0.01F);
  EXPECT_LT(worst(StorageType::q4_1), 0.51F * 6.0F / 15 + 0.01F);
  EXPECT_LT(worst(StorageType::q4_0), 1.01F * 3.0F / 8);
}

// A constant block and one of zeros have no scale to divide by.
TEST(StorageType, BlocksWithoutSpreadAreExact) {
  for (const float value : {0.0F, 2.0F}) {
    const std::vector<float> row(32, value);
    for (const StorageType type : {StorageType::q8_0, StorageType::q4_0, StorageType::q4_1}) {
      std::vector<std::byte> bytes(row_bytes(type, row.size()));
      encode_row(type, row, bytes);
      std::vector<float> back(row.size());
      decode_row(type, bytes, back);
      for (const float v : back) EXPECT_NEAR(v, value, 2e-3F) << to_string(type);
    }
  }
}

// Values 0, 1, 2, ... by their place: value i of a part is i % 16, the eight parts have scales 1 to 8 and offsets 1.
TEST(StorageType, DecodesFourBitSuperblocks) {
  std::vector<unsigned char> block(144, 0);
  put_half(block, 0, kOne);
  put_half(block, 2, kOne);
  for (unsigned char j = 0; j < 4; ++j) block[4 + j] = j + 1, block[8 + j] = 1;
  for (unsigned char j = 4; j < 8; ++j) block[8 + j] = static_cast<unsigned char>((j + 1) | 1 << 4);
  for (std::size_t i = 0; i < 128; ++i) block[16 + i] = static_cast<unsigned char>(i % 16 * 17);
  const std::vector<float> row = decoded(StorageType::q4_k, block, 256);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i], static_cast<float>((i / 32 + 1) * (i % 16)) - 1.0F) << i;
  }
}

TEST(StorageType, DecodesTheFifthBit) {
  std::vector<unsigned char> block(176, 0);
  put_half(block, 0, kOne);
  for (std::size_t j = 0; j < 4; ++j) block[4 + j] = 1;
  for (std::size_t j = 4; j < 8; ++j) block[8 + j] = 1;
  for (std::size_t i = 0; i < 32; ++i) block[16 + i] = 1 << 3;  // Of the values of part 3.
  const std::vector<float> row = decoded(StorageType::q5_k, block, 256);
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], i / 32 == 3 ? 16.0F : 0.0F) << i;
}

TEST(StorageType, DecodesSixBits) {
  std::vector<unsigned char> block(210, 0);
  for (std::size_t i = 0; i < 64; ++i) block[128 + i] = 0xE4;  // High bits 0, 1, 2, 3 of the four quarters.
  for (std::size_t i = 0; i < 16; ++i) block[192 + i] = static_cast<unsigned char>(-2);
  put_half(block, 208, kOne);
  const std::vector<float> row = decoded(StorageType::q6_k, block, 256);
  for (std::size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i], -2.0F * (static_cast<float>(i / 32 % 4) * 16.0F - 32.0F)) << i;
  }
}

TEST(StorageType, DecodesGroupsOf64) {
  std::vector<unsigned char> bytes(136, 0xFF);  // 128 times -1.
  const float scales[] = {0.5F, 4.0F};
  std::memcpy(bytes.data() + 128, scales, sizeof(scales));
  const std::vector<float> row = decoded(StorageType::q8_64, bytes, 128);
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(row[i], i < 64 ? -0.5F : -4.0F);
}

}  // namespace
}  // namespace semfuse
