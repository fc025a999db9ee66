// What the fuzzer does with bytes as what a study keeps: a run of an ablation, the levels of a sweep; the unit tests
// replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "study/ablation.h"
#include "study/sweep_levels.h"

namespace semfuse {

// True if the bytes are one of both. Only Error may escape, in one line; a run that was read and written reads the same
// again.
inline bool fuzz_study_records(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto accepts = [](const auto& read) {
    try {
      read();
      return true;
    } catch (const Error& error) {
      fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
      return false;
    }
  };
  const bool is_run = accepts([&] {
    const std::string written = to_json(parse_ablation_run(text, "fuzz"));
    fuzz_require(to_json(parse_ablation_run(written, "fuzz")) == written);
  });
  const bool is_sweep = accepts([&] { parse_sweep_levels(text, "{}", "folder/fuzz"); });
  return is_run || is_sweep;
}

}  // namespace semfuse
