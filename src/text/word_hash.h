// A fast hash of short strings, for tables in memory: no file holds it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/random.h"

namespace semfuse {

inline std::uint64_t word_hash(std::string_view word) {
  const auto mixed = [](std::uint64_t hash, std::uint64_t part) {
    const Wide product = static_cast<Wide>(hash ^ part) * 0x9E3779B97F4A7C15ull;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  std::uint64_t hash = 0xD6E8FEB86659FD93ull + word.size();
  while (word.size() >= 8) {
    std::uint64_t part = 0;
    std::memcpy(&part, word.data(), 8);
    hash = mixed(hash, part);
    word.remove_prefix(8);
  }
  std::uint64_t part = 0;
  if (!word.empty()) std::memcpy(&part, word.data(), word.size());
  return mixed(mixed(hash, part), 0);
}

}  // namespace semfuse
