// What the fuzzer does with bytes as a judge's file; the unit tests replay it over the seed corpus.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/require.h"
#include "io/tensor_archive.h"
#include "judge/linear_judge.h"
#include "semfuse/error.h"

namespace semfuse {

// True if the bytes are a judge. Only Error may escape, in one line; what is accepted judges texts within the knob's
// range.
inline bool fuzz_judge(std::span<const std::uint8_t> input) {
  const auto* begin = reinterpret_cast<const std::byte*>(input.data());
  try {
    const LinearJudge judge = LinearJudge::parse(TensorArchive::parse({begin, begin + input.size()}, "fuzz"), "fuzz");
    const std::vector<std::string> texts = {"The dog runs.", ""};
    for (const double value : judge.judge(texts)) {
      fuzz_require(value >= judge.knob().low && value <= judge.knob().high);
    }
    return true;
  } catch (const Error& error) {
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace semfuse
