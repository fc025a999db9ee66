// What the fuzzer does with bytes as a tagger; the unit tests replay it over the seed corpus.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "features/tagger.h"
#include "fuzz/require.h"
#include "io/checksum.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a tagger. Only Error may escape, in one line; what is accepted tags words and is written as it
// was read. The checksum is made right first, since no fuzzer would get past it.
inline bool fuzz_tagger(std::span<const std::uint8_t> input) {
  std::string bytes(reinterpret_cast<const char*>(input.data()), input.size());
  if (bytes.size() >= 4) {
    bytes.resize(bytes.size() - 4);
    Crc32 checksum;
    checksum.add(bytes);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(checksum.value() >> shift));
  }
  try {
    const Tagger tagger = Tagger::parse(bytes, "fuzz");
    fuzz_require(tagger.bytes() == bytes);
    const std::array<std::string_view, 3> words = {"The", "dog", "runs"};
    for (const UniversalTag tag : tagger.tag_sentence(words)) fuzz_require(tag < kUniversalTags.size());
    Tagger::History history;
    for (const std::string_view word : words) fuzz_require(tagger.tag_next(word, history) < kUniversalTags.size());
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
