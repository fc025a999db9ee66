#include "decoding/expected_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "io/quoted_text.h"

namespace semfuse {
namespace {

constexpr std::size_t kLongestText = 40;
constexpr std::size_t kMostBranches = 1000;

struct Run {
  std::uint32_t low;
  std::uint32_t high;
  ConfigurationId to;
};

// Bytes that lead somewhere, neighbours with the same target together.
std::vector<Run> runs_from(Configurations& configurations, ConfigurationId at) {
  std::vector<Run> runs;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const ConfigurationId to = configurations.step(at, static_cast<std::uint8_t>(byte));
    if (to == Configurations::kDead) continue;
    if (!runs.empty() && runs.back().to == to && runs.back().high + 1 == byte) {
      runs.back().high = byte;
    } else {
      runs.push_back({byte, byte, to});
    }
  }
  return runs;
}

std::string class_of(const std::vector<Run>& runs) {
  const auto show = [](std::uint32_t byte) {
    return byte < 0x20 || byte == 0x7F ? fmt::format("\\x{:02X}", byte) : std::string(1, static_cast<char>(byte));
  };
  std::string text;
  bool foreign = false;
  for (const Run& run : runs) {
    if (run.low == run.high && run.low < 0x80) continue;
    foreign |= run.high >= 0x80;
    if (run.low < 0x80) text += show(run.low) + "-" + show(std::min<std::uint32_t>(run.high, 0x7F));
  }
  if (foreign && text.empty()) return "a character beyond ASCII";
  return text.empty() ? text : "[" + text + "]";
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
      const auto byte = static_cast<char>(static_cast<unsigned char>(run.low));
      if (begun && (!is_word_byte(byte) || !is_word_byte(text.back()))) {
        ends = true;
      } else {
        longer.push_back({run.to, text + byte});
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
