#include "grammar/expected_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "grammar/utf8.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

constexpr std::size_t kLongestText = 40;
constexpr std::size_t kMostBranches = 1000;

constexpr std::size_t kMostRuns = 1000;
constexpr std::size_t kRangesShown = 8;
constexpr std::uint32_t kLastHangul = 0xD7FB;

// Bytes or characters that lead to the same place.
struct Run {
  char32_t low;
  char32_t high;
  ConfigurationId to;
};

void append(std::vector<Run>& runs, const Run& next) {
  if (!runs.empty() && runs.back().to == next.to && runs.back().high + 1 == next.low) {
    runs.back().high = next.high;
  } else {
    runs.push_back(next);
  }
}

std::vector<Run> byte_runs(Configurations& configurations, ConfigurationId at, std::uint32_t first,
                           std::uint32_t last) {
  std::vector<Run> runs;
  for (std::uint32_t byte = first; byte <= last; ++byte) {
    const ConfigurationId to = configurations.step(at, static_cast<std::uint8_t>(byte));
    if (to != Configurations::kDead) append(runs, {byte, byte, to});
  }
  return runs;
}

// Numbers that `num_bytes` continuation bytes of a character spell, six bits each.
std::vector<Run> continuation_runs(Configurations& configurations, ConfigurationId at, std::size_t num_bytes) {
  std::vector<Run> runs;
  for (const Run& run : byte_runs(configurations, at, 0x80, 0xBF)) {
    if (num_bytes == 1) {
      append(runs, {run.low - 0x80, run.high - 0x80, run.to});
      continue;
    }
    const std::vector<Run> rest = continuation_runs(configurations, run.to, num_bytes - 1);
    for (char32_t byte = run.low; byte <= run.high && runs.size() < kMostRuns; ++byte) {
      const char32_t high_bits = (byte - 0x80) << (6 * (num_bytes - 1));
      for (const Run& low : rest) append(runs, {high_bits | low.low, high_bits | low.high, low.to});
    }
  }
  return runs;
}

// Characters that lead somewhere, neighbours with the same target together.
std::vector<Run> runs_from(Configurations& configurations, ConfigurationId at) {
  struct Leads {
    std::uint32_t first;
    std::uint32_t last;
    std::size_t continuation_bytes;
  };
  std::vector<Run> runs = byte_runs(configurations, at, 0x00, 0x7F);
  for (const Leads& leads : {Leads{0xC0, 0xDF, 1}, Leads{0xE0, 0xEF, 2}, Leads{0xF0, 0xF7, 3}}) {
    for (const Run& lead : byte_runs(configurations, at, leads.first, leads.last)) {
      const std::vector<Run> rest = continuation_runs(configurations, lead.to, leads.continuation_bytes);
      for (char32_t byte = lead.low; byte <= lead.high && runs.size() < kMostRuns; ++byte) {
        const char32_t high_bits = (byte - leads.first) << (6 * leads.continuation_bytes);
        for (const Run& low : rest) append(runs, {high_bits | low.low, high_bits | low.high, low.to});
      }
    }
  }
  return runs;
}

std::string utf8_of(char32_t character) {
  std::string bytes;
  append_utf8(character, bytes);
  return bytes;
}

// A character as a grammar writes it, escaped where it would not show.
std::string written(char32_t character) {
  const auto code = static_cast<std::uint32_t>(character);
  const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  if (control) return fmt::format("\\x{:02X}", code);
  if (code == '\\' || code == ']') return std::string("\\") + static_cast<char>(code);
  if (code > 0xFFFF) return fmt::format("\\U{:08X}", code);
  if (code > kLastHangul) return fmt::format("\\u{:04X}", code);  // Private, or forms that few fonts have.
  return utf8_of(character);
}

std::string class_of(const std::vector<Run>& runs) {
  std::string text;
  std::size_t shown = 0;
  for (const Run& run : runs) {
    if (run.low == run.high) continue;
    if (++shown > kRangesShown) break;
    text += written(run.low) + "-" + written(run.high);
  }
  return shown > kRangesShown ? "[" + text + "...]" : "[" + text + "]";
}

struct Branch {
  ConfigurationId at;
  std::string text;
};

}  // namespace

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || static_cast<signed char>(c) < 0;
}

std::vector<std::string> expected_texts(Configurations& configurations, ConfigurationId at, std::string_view word_begun,
                                        std::size_t limit) {
  std::vector<std::string> found;
  const auto add = [&](std::string text) {
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(std::move(text));
  };
  const auto add_text = [&](const std::string& text) {
    const bool continues = !word_begun.empty() && is_word_byte(text[0]);
    add(quoted_text(continues ? std::string(word_begun) + text : text));
  };
  if (configurations.accepting(at)) add("end of text");
  std::vector<Branch> branches = {{at, {}}};
  for (std::size_t i = 0; !branches.empty() && found.size() <= limit && i < kMostBranches; ++i) {
    const Branch branch = std::move(branches.back());
    branches.pop_back();
    const std::string& text = branch.text;
    const std::vector<Run> runs = runs_from(configurations, branch.at);
    const bool has_class = std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.low != run.high; });
    const bool begun = text.find_first_not_of(' ') != std::string::npos;
    if (!text.empty() &&
        (has_class || runs.empty() || text.size() >= kLongestText || (begun && configurations.accepting(branch.at)))) {
      add_text(text);
      continue;
    }
    if (has_class) add(class_of(runs));
    bool ends = false;
    std::vector<Branch> longer;
    for (const Run& run : runs) {
      if (run.low != run.high) continue;
      const std::string character = utf8_of(run.low);
      if (begun && (!is_word_byte(character[0]) || !is_word_byte(text.back()))) {
        ends = true;
      } else {
        longer.push_back({run.to, text + character});
      }
    }
    if (ends) add_text(text);
    branches.insert(branches.end(), std::move_iterator(longer.rbegin()), std::move_iterator(longer.rend()));
  }
  if (found.size() > limit) {
    found.resize(limit);
    found.emplace_back("...");
  }
  return found;
}

}  // namespace semfuse
