// What the fuzzer does with bytes as a configuration; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "semfuse/error.h"
#include "semfuse/experiment.h"

namespace semfuse {

inline bool fuzz_accepts(const auto& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

// True if the bytes are a configuration. Only Error may escape, in one line; what is accepted is valid and prints as a
// text that reads back the same. The bytes are tried as a single assignment too.
inline bool fuzz_experiment(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const auto check = [](const Experiment& experiment) {
    validate(experiment);
    const std::string printed = to_toml(experiment);
    fuzz_require(to_toml(parse_experiment(printed, "printed")) == printed);
  };
  Experiment changed;
  if (fuzz_accepts([&] { set_key(changed, text); })) fuzz_accepts([&] { check(changed); });

  Experiment experiment;
  if (!fuzz_accepts([&] { experiment = parse_experiment(text, "fuzz"); })) return false;
  fuzz_require(fuzz_accepts([&] { check(experiment); }));
  return true;
}

}  // namespace semfuse
