// What the fuzzer does with bytes as a model of llama2.c; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backbone/llama2c_file.h"
#include "fuzz/foreign_model_check.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a whole model. Only Error may escape, in one line; what is accepted lies within the bytes.
inline bool fuzz_llama2c(std::span<const std::uint8_t> input) {
  try {
    require_model(parse_llama2c(std::as_bytes(input), "fuzz"), input.size());
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
