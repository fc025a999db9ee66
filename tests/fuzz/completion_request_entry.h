// What the fuzzer does with bytes as the body of a request; the unit tests replay it over the seed corpus.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "wire/api_error.h"
#include "wire/completion_request.h"

namespace semfuse {

// True if the bytes are a request for completions. Only ApiError may escape, in one line, with a status of 4xx; what is
// accepted is within its limits. The other kinds of request are read too.
inline bool fuzz_completion_request(std::span<const std::uint8_t> input) {
  const std::string_view body(reinterpret_cast<const char*>(input.data()), input.size());
  const auto refused = [](const ApiError& error) {
    fuzz_require(error.status() >= 400 && error.status() < 500);
    fuzz_require(std::string_view(error.what()).find('\n') == std::string_view::npos);
    fuzz_require(error.json().dump().find("\"message\"") != std::string::npos);
  };
  const auto attempt = [&](const auto& parse) {
    try {
      parse();
    } catch (const ApiError& error) {
      refused(error);
    }
  };
  attempt([&] { parse_completion_request(body, true); });
  attempt([&] { parse_text_request(body); });
  attempt([&] { parse_tokens_request(body); });
  attempt([&] { parse_grammar_request(body); });
  attempt([&] { parse_knobs_request(body); });
  try {
    const CompletionRequest request = parse_completion_request(body, false);
    fuzz_require(request.n >= 1 && !request.prompts.empty() && request.n * request.prompts.size() <= kMaxChoices);
    fuzz_require(request.stop.size() <= kMaxStops && request.logprobs.value_or(0) <= kMaxTopLogprobs);
    fuzz_require(request.sampling.top_p > 0.0 && request.sampling.top_p <= 1.0 && request.sampling.temperature >= 0.0);
    const std::vector<Knob> knobs = {parse_knob("polarity: probability of polarity"),
                                     parse_knob("mark: distribution of final_mark over . ! ?")};
    attempt([&] { knobs_json(knobs, knob_settings(knobs, request.knobs)).dump(); });
    return true;
  } catch (const ApiError& error) {
    refused(error);
    return false;
  }
}

}  // namespace semfuse
