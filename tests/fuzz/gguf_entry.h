// What the fuzzer does with bytes as a GGUF file; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backbone/gguf_model.h"
#include "fuzz/foreign_model_check.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a whole model. Only Error may escape, in one line; what is accepted lies within the bytes.
inline bool fuzz_gguf(std::span<const std::uint8_t> input) {
  try {
    require_model(parse_gguf_model(std::as_bytes(input), "fuzz"), input.size());
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
