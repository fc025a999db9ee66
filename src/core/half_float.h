// Numbers of 16 bits as floats and back: IEEE half precision and bfloat16, both as their bits.
#pragma once

#include <bit>
#include <cstdint>

namespace semfuse {

inline float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x3FFU) << 13);
  // As a float the magnitude is too small by 2^112, denormal or not.
  constexpr float kScale = 0x1p112F;
  const float value = std::bit_cast<float>(magnitude << 13) * kScale;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

// The nearest half, ties to even; what is too large becomes infinity.
inline std::uint16_t float_to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return sign | 0x7E00U;
  if (magnitude >= 0x477FF000U) return sign | 0x7C00U;
  if (magnitude < 0x38800000U) {  // Denormal: the addition rounds at the right bit.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) - 0x3F000000U);
  }
  const std::uint32_t odd = magnitude >> 13 & 1U;
  return sign | static_cast<std::uint16_t>((magnitude - 0x38000000U + 0xFFFU + odd) >> 13);
}

inline float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// The nearest, ties to even.
inline std::uint16_t float_to_bfloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

}  // namespace semfuse
