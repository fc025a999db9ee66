// What must hold of every foreign tokenizer that a reader accepted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "text/tokenizer_state.h"

namespace semfuse {

// It writes itself, reads itself back, and cuts the text into tokens that it has, in the order of the text. Throws
// Error if it is none.
inline void require_tokenizer(ForeignParts parts, std::string_view text) {
  const Tokenizer tokenizer = ForeignTokenizers::make(std::move(parts), "fuzz");
  const std::string json = tokenizer.to_json();
  fuzz_require(Tokenizer::parse(json, "again").to_json() == json);
  std::uint32_t last = 0;
  for (const Token& token : tokenizer.encode(text)) {
    fuzz_require(token.id >= 0 && static_cast<std::size_t>(token.id) < tokenizer.size());
    fuzz_require(token.begin >= last && token.end >= token.begin && token.end <= text.size());
    last = token.begin;
  }
  tokenizer.decode(tokenizer.encode(text));
  tokenizer.decode(tokenizer.encode_with_specials(text));
}

}  // namespace semfuse
