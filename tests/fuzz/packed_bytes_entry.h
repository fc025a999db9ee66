// What the fuzzer does with bytes as archives; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/byte_source.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes unpack, or are no archive. Only Error may escape, and no more comes out than the limit allows.
inline bool fuzz_packed_bytes(std::span<const std::uint8_t> input) {
  const std::span<const char> bytes(reinterpret_cast<const char*>(input.data()), input.size());
  constexpr UnpackLimit kLimit{.grace = 1 << 16, .ratio = 64};
  std::vector<char> piece(1000);
  std::uint64_t size = 0;
  try {
    const auto source = unpacked_bytes(bytes, "fuzz", kLimit);
    while (const std::size_t count = source->read(piece)) {
      size += count;
      fuzz_require(size <= kLimit.grace + kLimit.ratio * (bytes.size() + 1) + piece.size());
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
