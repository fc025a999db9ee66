// What the fuzzer does with bytes as the metrics of a run; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "study/run_metrics.h"

namespace semfuse {

// True if the bytes are metrics. Only Error may escape, in one line; what was read and written reads the same again.
inline bool fuzz_run_metrics(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  try {
    const std::string written = to_json(parse_run_metrics(text, "fuzz"));
    fuzz_require(to_json(parse_run_metrics(written, "fuzz")) == written);
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
