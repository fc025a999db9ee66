#include "judge/program_judge.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "data/text_hash.h"
#include "io/quoted_text.h"
#include "judge/filter_program.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostBytesOfNumber = 64;
constexpr std::size_t kLongestCommand = 60;  // In a message.

// The numbers of one line; nothing if it holds something else.
bool read_numbers(std::string_view line, std::span<double> numbers) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  const char* at = line.data();
  const char* const end = line.data() + line.size();
  for (double& number : numbers) {
    while (at < end && is_blank(*at)) ++at;
    const auto [next, code] = std::from_chars(at, end, number);
    if (code != std::errc() || !std::isfinite(number) || (next < end && !is_blank(*next))) return false;
    at = next;
  }
  while (at < end && is_blank(*at)) ++at;
  return at == end;
}

}  // namespace

ProgramJudge::ProgramJudge(Knob knob, std::string command, ProgramJudgeOptions options)
    : knob_(std::move(knob)), command_(std::move(command)), options_(std::move(options)) {}

std::vector<double> ProgramJudge::judge(std::span<const std::string> texts) const {
  const std::string name = fmt::format("judge {}", quoted_text(command_, kLongestCommand));
  const std::size_t num_values = knob_.num_values();
  std::string input;
  for (const std::string& text : texts) {
    for (const char c : text) input.push_back(c == '\n' || c == '\r' ? ' ' : c);
    input.push_back('\n');
  }
  const std::size_t most = 4096 + (texts.size() + 1) * num_values * kMostBytesOfNumber;
  const std::string output = run_filter(
      command_, input, {.name = name, .most_output = most, .patience = options_.patience, .go_on = options_.go_on});
  std::vector<double> values(texts.size() * num_values);
  std::size_t line_number = 0;
  for (std::string_view rest = output; !rest.empty(); ++line_number) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (line_number >= texts.size()) {
      throw Error(fmt::format("{}: writes more lines than the {} texts that it was given; it must write one for each",
                              name, texts.size()));
    }
    const std::span<double> numbers = std::span(values).subspan(line_number * num_values, num_values);
    if (!read_numbers(line, numbers)) {
      throw Error(fmt::format(
          "{}: writes {} on line {}, not {}", name, quoted_text(line, 40), line_number + 1,
          num_values == 1 ? std::string("a number") : fmt::format("{} numbers with blanks between them", num_values)));
    }
    for (const double number : numbers) {
      if (number < knob_.low || number > knob_.high) {
        throw Error(fmt::format("{}: writes {} on line {}, which is not from {} to {}", name, number, line_number + 1,
                                knob_.low, knob_.high));
      }
    }
  }
  if (line_number < texts.size()) {
    throw Error(
        fmt::format("{}: writes {} lines for {} texts; it must write one for each", name, line_number, texts.size()));
  }
  return values;
}

std::string ProgramJudge::fingerprint() const {
  return fmt::format("command {:016x}", text_hash(command_));
}

}  // namespace semfuse
