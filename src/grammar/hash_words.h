// A hash of a list of 32-bit words, for tables of sets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.h"

namespace semfuse {

struct HashWords {
  using is_transparent = void;
  std::size_t operator()(std::span<const std::uint32_t> words) const {
    std::uint64_t hash = words.size();
    for (const std::uint32_t word : words) hash = mix_bits(hash ^ word) + 0x9E3779B97F4A7C15ull;
    return static_cast<std::size_t>(hash);
  }
  std::size_t operator()(const std::vector<std::uint32_t>& words) const {
    return (*this)(std::span<const std::uint32_t>(words));
  }
};

}  // namespace semfuse
