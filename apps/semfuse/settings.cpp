#include "settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxThreads = 1024;

}  // namespace

std::optional<std::uint64_t> parse_whole_number(std::string_view option, const std::optional<std::string>& text,
                                                std::uint64_t low, std::uint64_t high) {
  if (!text) return std::nullopt;
  std::uint64_t number = 0;
  const char* last = text->data() + text->size();
  const auto [end, code] = std::from_chars(text->data(), last, number);
  if (code != std::errc() || end != last || number < low || number > high) {
    throw Error(
        fmt::format("{} is {}; it must be a whole number from {} to {}", option, quoted_text(*text), low, high));
  }
  return number;
}

std::optional<double> parse_number(std::string_view option, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  double number = 0.0;
  const char* last = text->data() + text->size();
  const auto [end, code] = std::from_chars(text->data(), last, number);
  if (code != std::errc() || end != last || !std::isfinite(number)) {
    throw Error(fmt::format("{} is {}; it must be a number", option, quoted_text(*text)));
  }
  return number;
}

std::size_t parse_threads(const std::optional<std::string>& text) {
  return parse_whole_number("--threads", text, 1, kMaxThreads).value_or(0);
}

void require_synthetic(const Experiment& experiment, std::string_view path, std::string_view purpose) {
  if (experiment.data.kind == DataKind::synthetic) return;
  throw Error(
      fmt::format("{}: was trained on files, and {} is for models of the synthetic corpus; measure it with "
                  "`semfuse evaluate`",
                  path, purpose));
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

}  // namespace semfuse
