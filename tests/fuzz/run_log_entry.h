// What the fuzzer does with bytes as the log of a run; the unit tests replay it over the seed corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fuzz/require.h"
#include "report/plot.h"
#include "run/run_log.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a log with at least one step. Only Error may escape, in one line. What is cut off a log that is
// whole leaves a whole one, and its curve can be drawn.
inline bool fuzz_run_log(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  for (const std::uint64_t step : {0, 1, 3}) fuzz_require(text.starts_with(log_until(text, step)));
  try {
    const RunHistory history = parse_run_log(text, "fuzz");
    Series loss{.name = "loss", .x = {}, .y = {}};
    for (const LoggedStep& step : history.steps) {
      loss.x.push_back(static_cast<double>(step.step));
      loss.y.push_back(step.loss);
      fuzz_require(step.step == loss.x.size());
    }
    const std::size_t half = history.steps.size() / 2;
    fuzz_require(parse_run_log(log_until(text, half), "fuzz").steps.size() == half);
    const Plot plot{.title = "loss", .x_label = "step", .series = {thinned(loss, 50)}};
    fuzz_require(to_svg(std::span(&plot, 1)).find("nan") == std::string::npos);
    fuzz_require(!to_text(plot, 60, 12).empty());
    return !history.steps.empty();
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
