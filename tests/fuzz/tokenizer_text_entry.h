// What the fuzzer does with bytes as a text for tokenizers; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/tokenizer_trainer.h"
#include "text/token_ids.h"

namespace semfuse {

// True if the first half of the bytes has pieces that occur twice. Tokenizers of every kind that were trained on the
// first half give all of the bytes back, token by token. As ids the bytes are read or refused.
inline bool fuzz_tokenizer_text(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    for (const TokenId id : parse_token_ids(text, "fuzz")) fuzz_require(id >= 0);
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  TokenizerTrainer trainer;
  trainer.add(text.substr(0, text.size() / 2));
  bool has_pieces = false;
  constexpr std::size_t kSize = Tokenizer::kSmallestSize + 100;
  for (const TokenizerKind kind : {TokenizerKind::words, TokenizerKind::pieces, TokenizerKind::bytes}) {
    const Tokenizer tokenizer = trainer.make(kind, kSize);
    fuzz_require(tokenizer.size() <= kSize);
    has_pieces = has_pieces || tokenizer.kind() == TokenizerKind::pieces;
    const std::vector<Token> tokens = tokenizer.encode(text);
    fuzz_require(tokenizer.decode(tokens) == text);
    std::uint32_t end = 0;
    for (const Token& token : tokens) {
      fuzz_require(token.begin == end && token.end > end);
      end = token.end;
      fuzz_require(tokenizer.surfaces()[static_cast<std::size_t>(token.id)] ==
                   text.substr(token.begin, token.end - token.begin));
    }
    fuzz_require(end == text.size());
  }
  return has_pieces;
}

}  // namespace semfuse
