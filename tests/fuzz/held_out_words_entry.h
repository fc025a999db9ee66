// What the fuzzer does with bytes as a file of held-out words; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/held_out_words.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are such a file. Only Error may escape, in one line; what is accepted is found in a text that has
// it.
inline bool fuzz_held_out_words(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const std::vector<std::string> words = parse_held_out_words(text, "fuzz");
    const HeldOutWords held_out(words);
    for (const std::string& word : words) fuzz_require(held_out.are_in("so " + word));
    held_out.are_in(text);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
