#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace semfuse {

void Metrics::count_answer(unsigned status) {
  ++answers_[std::min<std::size_t>(status / 100, answers_.size() - 1)];
}

void Metrics::count_first_token(double seconds) {
  const auto bound = std::ranges::find_if(kFirstTokenBounds, [&](double each) { return seconds <= each; });
  ++first_tokens_[static_cast<std::size_t>(bound - kFirstTokenBounds.begin())];
  first_token_microseconds_ += static_cast<std::uint64_t>(seconds * 1e6);
}

std::string Metrics::text(const Now& now) const {
  std::string text;
  const auto describe = [&](std::string_view name, std::string_view kind, std::string_view help) {
    text += fmt::format("# HELP semfuse:{} {}\n# TYPE semfuse:{} {}\n", name, help, name, kind);
  };
  const auto add = [&](std::string_view name, std::string_view kind, std::string_view help, std::uint64_t value) {
    describe(name, kind, help);
    text += fmt::format("semfuse:{} {}\n", name, value);
  };
  add("prompt_tokens_total", "counter", "Tokens of prompts.", prompt_tokens_);
  add("tokens_predicted_total", "counter", "Tokens written.", predicted_tokens_);
  add("requests_processing", "gauge", "Texts being written.", now.running);
  add("requests_deferred", "gauge", "Texts that wait.", now.waiting);
  add("connections", "gauge", "Open connections.", now.connections);
  add("clients_gone_total", "counter", "Answers whose client went away before their end.", disconnects_);
  add("knob_changes_total", "counter", "Knobs moved while a text was written.", knob_changes_);
  describe("requests_total", "counter", "Answers by status.");
  for (std::size_t digit = 2; digit < answers_.size(); ++digit) {
    text += fmt::format("semfuse:requests_total{{status=\"{}xx\"}} {}\n", digit, answers_[digit].load());
  }
  describe("requests_refused_total", "counter", "Requests refused by reason.");
  text += fmt::format("semfuse:requests_refused_total{{reason=\"queue\"}} {}\n", refused_full_.load());
  text += fmt::format("semfuse:requests_refused_total{{reason=\"key\"}} {}\n", refused_key_.load());
  describe("first_token_seconds", "histogram", "From a request to its first token.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < first_tokens_.size(); ++i) {
    sum += first_tokens_[i];
    const std::string bound = i < kFirstTokenBounds.size() ? fmt::format("{}", kFirstTokenBounds[i]) : "+Inf";
    text += fmt::format("semfuse:first_token_seconds_bucket{{le=\"{}\"}} {}\n", bound, sum);
  }
  text += fmt::format("semfuse:first_token_seconds_sum {}\n", static_cast<double>(first_token_microseconds_) / 1e6);
  text += fmt::format("semfuse:first_token_seconds_count {}\n", sum);
  return text;
}

}  // namespace semfuse
