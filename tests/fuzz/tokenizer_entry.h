// What the fuzzer does with bytes as a tokenizer.json; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// True if the bytes are a tokenizer. Only Error may escape, in one line; one that is accepted writes itself, reads
// itself back, and gives every text back, its own file among them.
inline bool fuzz_tokenizer(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const Tokenizer tokenizer = Tokenizer::parse(text, "fuzz");
    const Tokenizer back = Tokenizer::parse(tokenizer.to_json(), "again");
    fuzz_require(back.kind() == tokenizer.kind() && back.surfaces() == tokenizer.surfaces());
    const std::vector<Token> tokens = tokenizer.encode(text);
    fuzz_require(tokenizer.decode(tokens) == text && back.encode(text) == tokens);
    fuzz_require(tokenizer.vocabulary().size() == tokenizer.size());
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
