// What the fuzzer does with bytes as a config.json; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backbone/hf_folder.h"
#include "fuzz/require.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are one of a Llama or GPT-2. Only Error may escape, in one line; what is accepted is a spec.
inline bool fuzz_hf_config(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const BackboneSpec spec = parse_hf_config(text, "fuzz");
    fuzz_require(parse_backbone_spec(to_json(spec), "again") == spec);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
