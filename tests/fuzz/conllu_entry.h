// What the fuzzer does with bytes as CoNLL-U; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "features/conllu.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are sentences. Only Error may escape, in one line; every word that is accepted has a tag.
inline bool fuzz_conllu(std::span<const std::uint8_t> input) {
  try {
    const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
    for (const TaggedSentence& sentence : parse_conllu(text, "fuzz")) {
      fuzz_require(!sentence.words.empty() && sentence.words.size() == sentence.tags.size());
      for (const std::string& word : sentence.words) fuzz_require(!word.empty());
      for (const UniversalTag tag : sentence.tags) fuzz_require(tag < kUniversalTags.size());
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
