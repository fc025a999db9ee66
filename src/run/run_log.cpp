#include "run/run_log.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/json.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using nlohmann::json;

// One line as an object with checked access to its fields.
class Event {
 public:
  Event(std::string_view line, std::string place) : place_(std::move(place)), object_(parse_json(line, place_, 4)) {
    if (!object_.is_object()) fail("is no object");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}: {}; remove the line or write the log anew", place_, what));
  }

  std::uint64_t count(const char* name) const {
    const json& value = field(name);
    if (!value.is_number_unsigned()) fail(fmt::format("\"{}\" is no whole number", name));
    return value.get<std::uint64_t>();
  }
  std::string text(const char* name) const {
    const json& value = field(name);
    if (!value.is_string()) fail(fmt::format("\"{}\" is no text", name));
    return value.get<std::string>();
  }
  double number(const char* name) const {
    const json& value = field(name);
    if (!value.is_number()) fail(fmt::format("\"{}\" is no number", name));
    return value.get<double>();
  }
  double number_or_null(const char* name) const {
    return field(name).is_null() ? std::numeric_limits<double>::quiet_NaN() : number(name);
  }

 private:
  const json& field(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail(fmt::format("lacks \"{}\"", name));
    return *found;
  }

  std::string place_;
  json object_;
};

// Takes the first line off the text; nothing if no whole line is left.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

RunHistory parse_run_log(std::string_view text, std::string_view origin) {
  RunHistory history;
  std::size_t number = 0;
  while (const auto line = take_line(text)) {
    const Event event(*line, fmt::format("{}:{}", origin, ++number));
    const std::string kind = event.text("event");
    const std::uint64_t last = history.steps.empty() ? 0 : history.steps.back().step;
    const std::uint64_t step = event.count("step");
    if (kind == "step" || kind == "skipped") {
      if (step != last + 1) event.fail(fmt::format("step {} follows step {}", step, last));
      const bool skipped = kind == "skipped";
      history.steps.push_back({.step = step,
                               .epoch = event.count("epoch"),
                               .skipped = skipped,
                               .loss = skipped ? std::numeric_limits<double>::quiet_NaN() : event.number("loss"),
                               .num_tokens = event.count("tokens")});
    } else if (kind == "evaluation") {
      if (step != last) event.fail(fmt::format("the evaluation after step {} follows step {}", step, last));
      history.evaluations.push_back({.step = step,
                                     .epoch = event.count("epoch"),
                                     .attention = event.text("attention"),
                                     .perplexity = event.number_or_null("perplexity"),
                                     .seen_only_perplexity = event.number_or_null("seen_only_perplexity"),
                                     .feature_mse = event.number_or_null("feature_mse")});
    } else if (kind == "start" || kind == "finished") {
      if (step != last) event.fail(fmt::format("the {} at step {} follows step {}", kind, step, last));
      if (kind == "start") history.instruction_set = event.text("instruction_set");
      history.finished = kind == "finished";
    } else {
      event.fail(fmt::format("the event {} is unknown", quoted_text(kind)));
    }
  }
  return history;
}

std::string_view log_until(std::string_view text, std::uint64_t step) {
  std::string_view rest = text;
  std::size_t kept = 0;
  while (const auto line = take_line(rest)) {
    try {
      if (Event(*line, "log").count("step") > step) break;
    } catch (const Error&) {
      break;
    }
    kept = text.size() - rest.size();
  }
  return text.substr(0, kept);
}

}  // namespace semfuse
