// Counter-based randomness: every number is a function of (seed, purpose, step, index), so that no result depends on
// the order in which threads ask for it.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace semfuse {

// What a stream of numbers is for. Streams of different purposes are independent; the values are part of what a seed
// means.
enum class RandomPurpose : std::uint64_t {
  corpus_train = 1,
  corpus_val = 2,
  held_out = 3,
  weights = 4,
  shuffle = 5,
  dropout = 6,
  sampling = 7,
  identity_dropout = 8,
  requests = 9,
  polarity_jitter = 10,
  soft_labels = 11,
  steering = 12,
  sides = 13
};

// A bijection of 64 bits in which every input bit reaches every output bit (the finaliser of SplitMix64).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

__extension__ typedef unsigned __int128 Wide;

// The numbers of one (seed, purpose, step). Stateless but for the cursor of next_*(), so copies are cheap.
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, RandomPurpose purpose, std::uint64_t step = 0)
      : key_(mix_bits(mix_bits(mix_bits(seed + kGolden) + static_cast<std::uint64_t>(purpose) * kGolden) +
                      step * kGolden)) {}

  // Uniform on 64 bits: number `index` of the stream.
  constexpr std::uint64_t bits(std::uint64_t index) const { return mix_bits(key_ + (index + 1) * kGolden); }
  // Uniform on [0, 1) with 53 bits.
  constexpr double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }
  // Uniform on 0 ... bound-1; bound must not be 0. The bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    return static_cast<std::uint64_t>((static_cast<Wide>(bits(index)) * bound) >> 64);
  }
  // Standard normal (Box-Muller); number `index` uses the uniforms 2*index and 2*index+1.
  double normal(std::uint64_t index) const {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(2 * index)));
    return radius * std::cos(2.0 * std::numbers::pi * uniform(2 * index + 1));
  }

  // The same numbers in sequence.
  double next_uniform() { return uniform(cursor_++); }
  std::uint64_t next_below(std::uint64_t bound) { return below(cursor_++, bound); }

 private:
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;
  std::uint64_t key_;
  std::uint64_t cursor_ = 0;
};

}  // namespace semfuse
