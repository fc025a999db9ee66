// What the fuzzer does with bytes as a SentencePiece model; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "text/spm_pieces.h"
#include "text/tokenizer_state.h"

namespace semfuse {

// True if the bytes are a tokenizer. Only Error may escape, in one line; one that is accepted writes itself, reads
// itself back, and cuts its own file into tokens that it has.
inline bool fuzz_spm_model(std::span<const std::uint8_t> input) {
  try {
    const Tokenizer tokenizer = ForeignTokenizers::make(parse_spm_model(std::as_bytes(input), "fuzz"), "fuzz");
    const std::string before = tokenizer.to_json();
    fuzz_require(Tokenizer::parse(before, "again").to_json() == before);
    const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
    std::uint32_t last = 0;
    for (const Token& token : tokenizer.encode(text)) {
      fuzz_require(token.id >= 0 && static_cast<std::size_t>(token.id) < tokenizer.size());
      fuzz_require(token.begin >= last && token.end >= token.begin && token.end <= text.size());
      last = token.begin;
    }
    tokenizer.decode(tokenizer.encode(text));
    tokenizer.decode(tokenizer.encode_with_specials(text));
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
