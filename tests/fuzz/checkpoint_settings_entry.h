// What the fuzzer does with bytes as the settings of a run's checkpoints; the unit tests replay it over the seed
// corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "run/checkpoint_store.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are settings. Only Error may escape, in one line.
inline bool fuzz_checkpoint_settings(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const CheckpointSettings settings = parse_checkpoint_settings(text, "fuzz");
    fuzz_require(settings.every > 0 && settings.keep > 0);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
