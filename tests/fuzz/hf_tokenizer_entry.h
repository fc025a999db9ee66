// What the fuzzer does with bytes as a tokenizer.json of others; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/foreign_tokenizer_check.h"
#include "semfuse/error.h"
#include "text/hf_tokenizer.h"

namespace semfuse {

// True if the bytes are a tokenizer. Only Error may escape, in one line; one that is accepted writes itself, reads
// itself back, and cuts its own file into tokens that it has.
inline bool fuzz_hf_tokenizer(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    require_tokenizer(parse_hf_tokenizer(text, "fuzz").parts, text);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
