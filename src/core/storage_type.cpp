#include "core/storage_type.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "core/half_float.h"

namespace semfuse {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are little-endian and used as they are");

struct TypeRow {
  std::string_view name;
  std::size_t block;
  std::size_t bytes;  // Of a block.
};

// By the enumerators' order.
constexpr std::array<TypeRow, 10> kTypes = {{{"f32", 1, 4},
                                             {"f16", 1, 2},
                                             {"bf16", 1, 2},
                                             {"q8_0", 32, 34},
                                             {"q4_0", 32, 18},
                                             {"q4_1", 32, 20},
                                             {"q4_k", 256, 144},
                                             {"q5_k", 256, 176},
                                             {"q6_k", 256, 210},
                                             {"q8_64", 64, 68}}};

const TypeRow& row_of(StorageType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <class T>
void store(T value, std::byte* bytes) {
  std::memcpy(bytes, &value, sizeof(T));
}

float load_half(const std::byte* bytes) {
  return half_to_float(load<std::uint16_t>(bytes));
}

int low(std::byte byte) {
  return std::to_integer<int>(byte & std::byte{15});
}

int high(std::byte byte) {
  return std::to_integer<int>(byte >> 4);
}

void decode_q8_0(const std::byte* block, float* row) {
  const float scale = load_half(block);
  for (int i = 0; i < 32; ++i) row[i] = scale * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

void decode_q4_0(const std::byte* block, float* row) {
  const float scale = load_half(block);
  for (int i = 0; i < 16; ++i) {
    row[i] = scale * static_cast<float>(low(block[2 + i]) - 8);
    row[i + 16] = scale * static_cast<float>(high(block[2 + i]) - 8);
  }
}

void decode_q4_1(const std::byte* block, float* row) {
  const float scale = load_half(block);
  const float least = load_half(block + 2);
  for (int i = 0; i < 16; ++i) {
    row[i] = scale * static_cast<float>(low(block[4 + i])) + least;
    row[i + 16] = scale * static_cast<float>(high(block[4 + i])) + least;
  }
}

// Of part j of 8: scale and offset, 6 bits each, packed into 12 bytes.
std::array<float, 2> packed_scale(const std::byte* packed, int j) {
  const auto byte = [&](int i) { return std::to_integer<unsigned>(packed[i]); };
  if (j < 4) return {static_cast<float>(byte(j) & 63), static_cast<float>(byte(j + 4) & 63)};
  return {static_cast<float>((byte(j + 4) & 15) | (byte(j - 4) >> 6 << 4)),
          static_cast<float>(byte(j + 4) >> 4 | (byte(j) >> 6 << 4))};
}

// q4_k, and q5_k, which has a fifth bit of every value in 32 bytes before the others.
void decode_k(const std::byte* block, bool fifth_bit, float* row) {
  const float scale = load_half(block);
  const float least = load_half(block + 2);
  const std::byte* packed = block + 4;
  const std::byte* fifth = block + 16;
  const std::byte* values = block + (fifth_bit ? 48 : 16);
  for (int part = 0; part < 8; ++part) {
    const auto [factor, offset] = packed_scale(packed, part);
    const float d = scale * factor;
    const float m = least * offset;
    const std::byte* bytes = values + part / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int value = part % 2 == 0 ? low(bytes[i]) : high(bytes[i]);
      if (fifth_bit && std::to_integer<bool>(fifth[i] >> part & std::byte{1})) value += 16;
      *row++ = d * static_cast<float>(value) - m;
    }
  }
}

void decode_q6_k(const std::byte* block, float* row) {
  const float scale = load_half(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::byte* lows = block + 64 * half;
    const std::byte* highs = block + 128 + 32 * half;
    const std::byte* scales = block + 192 + 8 * half;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const std::byte byte = lows[i + quarter % 2 * 32];
        const int bits = std::to_integer<int>(highs[i] >> (2 * quarter) & std::byte{3});
        const int value = ((quarter < 2 ? low(byte) : high(byte)) | bits << 4) - 32;
        const float factor = load<std::int8_t>(scales + quarter * 2 + i / 16);
        *row++ = scale * factor * static_cast<float>(value);
      }
    }
  }
}

void encode_q8_0(const float* row, std::byte* block) {
  float largest = 0;
  for (int i = 0; i < 32; ++i) largest = std::max(largest, std::abs(row[i]));
  const float scale = largest / 127;
  const float inverse = scale > 0 ? 1 / scale : 0;
  store(float_to_half(scale), block);
  for (int i = 0; i < 32; ++i) {
    store(static_cast<std::int8_t>(std::clamp(std::round(row[i] * inverse), -127.0F, 127.0F)), block + 2 + i);
  }
}

void encode_nibbles(const float* row, float inverse, float zero, std::byte* bytes) {
  const auto nibble = [&](float value) {
    return static_cast<unsigned>(std::clamp(std::round((value - zero) * inverse), 0.0F, 15.0F));
  };
  for (int i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(nibble(row[i]) | nibble(row[i + 16]) << 4);
}

// The value of largest magnitude is met exactly as -8 times the scale.
void encode_q4_0(const float* row, std::byte* block) {
  const float extreme = *std::max_element(row, row + 32, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float scale = half_to_float(float_to_half(extreme / -8));
  store(float_to_half(scale), block);
  encode_nibbles(row, scale != 0 ? 1 / scale : 0, -8 * scale, block + 2);
}

void encode_q4_1(const float* row, std::byte* block) {
  const auto [least, most] = std::minmax_element(row, row + 32);
  const float zero = half_to_float(float_to_half(*least));
  const float scale = half_to_float(float_to_half((*most - zero) / 15));
  store(float_to_half(scale), block);
  store(float_to_half(zero), block + 2);
  encode_nibbles(row, scale > 0 ? 1 / scale : 0, zero, block + 4);
}

void decode_plain(StorageType type, std::span<const std::byte> bytes, std::span<float> row) {
  if (type == StorageType::f32) {
    std::memcpy(row.data(), bytes.data(), bytes.size());
    return;
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto bits = load<std::uint16_t>(bytes.data() + 2 * i);
    row[i] = type == StorageType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
  }
}

}  // namespace

std::string_view to_string(StorageType type) {
  return row_of(type).name;
}

std::optional<StorageType> storage_type_from_string(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<StorageType>(i);
  }
  return std::nullopt;
}

bool is_plain(StorageType type) {
  return block_size(type) == 1;
}

std::size_t block_size(StorageType type) {
  return row_of(type).block;
}

std::size_t row_bytes(StorageType type, std::size_t columns) {
  assert(columns % block_size(type) == 0);
  return columns / row_of(type).block * row_of(type).bytes;
}

std::size_t bits_a_value(StorageType type) {
  return (8 * row_of(type).bytes + row_of(type).block - 1) / row_of(type).block;
}

void decode_row(StorageType type, std::span<const std::byte> bytes, std::span<float> row) {
  assert(bytes.size() == row_bytes(type, row.size()));
  if (is_plain(type)) return decode_plain(type, bytes, row);
  if (type == StorageType::q8_64) {
    const std::byte* scales = bytes.data() + row.size();
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = load<float>(scales + i / 64 * 4) * static_cast<float>(load<std::int8_t>(bytes.data() + i));
    }
    return;
  }
  const auto [name, block, block_bytes] = row_of(type);
  for (std::size_t i = 0; i < row.size() / block; ++i) {
    const std::byte* from = bytes.data() + i * block_bytes;
    float* to = row.data() + i * block;
    if (type == StorageType::q8_0) decode_q8_0(from, to);
    if (type == StorageType::q4_0) decode_q4_0(from, to);
    if (type == StorageType::q4_1) decode_q4_1(from, to);
    if (type == StorageType::q4_k || type == StorageType::q5_k) decode_k(from, type == StorageType::q5_k, to);
    if (type == StorageType::q6_k) decode_q6_k(from, to);
  }
}

void encode_row(StorageType type, std::span<const float> row, std::span<std::byte> bytes) {
  assert(bytes.size() == row_bytes(type, row.size()));
  if (type == StorageType::f32) {
    std::memcpy(bytes.data(), row.data(), bytes.size());
    return;
  }
  const auto [name, block, block_bytes] = row_of(type);
  for (std::size_t i = 0; i < row.size() / block; ++i) {
    const float* from = row.data() + i * block;
    std::byte* to = bytes.data() + i * block_bytes;
    if (type == StorageType::f16) store(float_to_half(*from), to);
    if (type == StorageType::bf16) store(float_to_bfloat(*from), to);
    if (type == StorageType::q8_0) encode_q8_0(from, to);
    if (type == StorageType::q4_0) encode_q4_0(from, to);
    if (type == StorageType::q4_1) encode_q4_1(from, to);
  }
}

}  // namespace semfuse
