// What the fuzzer does with bytes as word vectors; the unit tests replay it over the seed corpus.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "features/word_vectors.h"
#include "fuzz/require.h"
#include "io/checksum.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are word vectors. Only Error may escape, in one line; what is accepted has finite vectors and is
// written as it was read. The checksum is made right first, since no fuzzer would get past it.
inline bool fuzz_word_vectors(std::span<const std::uint8_t> input) {
  std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  if (bytes.size() >= 4) {
    bytes.resize(bytes.size() - 4);
    Crc32 checksum;
    checksum.add(bytes);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(checksum.value() >> shift));
  }
  try {
    const WordVectors vectors = WordVectors::parse(bytes, "fuzz");
    fuzz_require(vectors.bytes() == bytes);
    for (const std::string_view word : {"soup", " Soups", "\xC3\xA9\xFF"}) {
      for (const float value : vectors.columns_of(word)) fuzz_require(std::isfinite(value));
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
