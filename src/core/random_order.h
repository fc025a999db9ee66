// An order of 0 ... n-1 that is drawn at random and needs no memory: place i holds order(i).
#pragma once

#include <bit>
#include <cstdint>

#include "core/random.h"

namespace semfuse {

// Four rounds of a Feistel network over the next even number of bits, walked until the result is below n: each index
// appears at just one place. For lists too long to be shuffled in memory.
class RandomOrder {
 public:
  // `size` above 0.
  RandomOrder(std::uint64_t size, std::uint64_t seed, std::uint64_t step)
      : size_(size), half_bits_((std::bit_width(size | 3U) + 1U) / 2U), random_(seed, RandomPurpose::shuffle, step) {}

  std::uint64_t operator()(std::uint64_t place) const {
    do {
      place = mixed(place);
    } while (place >= size_);
    return place;
  }

 private:
  std::uint64_t mixed(std::uint64_t x) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
    std::uint64_t left = x >> half_bits_;
    std::uint64_t right = x & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (random_.bits(round << 40U | right) & mask);
      left = right;
      right = next;
    }
    return left << half_bits_ | right;
  }

  std::uint64_t size_;
  unsigned half_bits_;
  RandomStream random_;
};

}  // namespace semfuse
