// Which numbers a dropout site zeroes: a function of (key, row, column), so that backward finds the mask of forward
// again without storing it, and no thread order matters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/random.h"

namespace semfuse {

// A bijection of 32 bits with few operations: two multiplications, three shifts.
constexpr std::uint32_t mix_bits32(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

// The mask of one site (a place in the network) in one step. Default: keeps everything.
//
// A hash of 32 bits decides about two numbers, 16 columns apart, with half of its bits each: the rate is met to 2^-16.
struct DropoutMask {
  static constexpr std::uint32_t kColumnStep = 0x9E3779B9u;
  static constexpr std::size_t kHalf = 16;  // Columns that use the low half of a hash before as many use the high half.

  std::uint64_t key = 0;
  std::uint32_t threshold = 0;  // A number is dropped if its 16 bits are below; 0 drops none.
  float scale = 1.0f;           // What kept numbers are multiplied with: 1 / (1 - rate).

  DropoutMask() = default;
  DropoutMask(double rate, std::uint64_t seed, std::uint64_t step, std::uint64_t site)
      : key(RandomStream(seed, RandomPurpose::dropout, step).bits(site)),
        threshold(static_cast<std::uint32_t>(std::lround(std::min(rate * 65536.0, 65535.0)))),
        scale(65536.0f / static_cast<float>(65536u - threshold)) {}

  bool active() const { return threshold != 0; }
  constexpr std::uint32_t row_key(std::size_t row) const { return static_cast<std::uint32_t>(mix_bits(key + row)); }

  // Whether the number at (row, column) is kept; the vector code computes the same.
  constexpr bool keeps(std::size_t row, std::size_t column) const {
    const auto hashed = static_cast<std::uint32_t>(column / (2 * kHalf) * kHalf + column % kHalf);
    const std::uint32_t hash = mix_bits32(row_key(row) + hashed * kColumnStep);
    return (column / kHalf % 2 == 0 ? hash & 0xFFFFu : hash >> 16) >= threshold;
  }
};

}  // namespace semfuse
