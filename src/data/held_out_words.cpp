#include "data/held_out_words.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/lower_case.h"
#include "core/text_lines.h"
#include "io/file.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"
#include "text/word_splitter.h"

namespace semfuse {
namespace {

constexpr std::size_t kMaxHeldOutBytes = std::size_t{16} << 20;

}  // namespace

std::vector<std::string> surfaces_of(std::string_view word) {
  return {fmt::format(" {}", word), std::string(word)};
}

HeldOutWords::HeldOutWords(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.empty() || first_word_length(" " + word) != word.size() + 1) {
      throw Error(
          fmt::format("the held-out word {} is not one word; write words without spaces, letters only or "
                      "digits only",
                      quoted_text(word)));
    }
    words_.insert(lower_case(word));
  }
}

bool HeldOutWords::are_in(std::string_view text) const {
  if (words_.empty()) return false;
  while (!text.empty()) {
    const std::size_t length = first_word_length(text);
    const std::size_t space = length > 1 && text.front() == ' ' ? 1 : 0;
    if (words_.contains(lower_case(text.substr(space, length - space)))) return true;
    text.remove_prefix(length);
  }
  return false;
}

std::vector<std::string> parse_held_out_words(std::string_view text, std::string_view origin) {
  std::vector<std::string> words;
  std::unordered_set<std::string> known;
  text = without_byte_order_mark(text);
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.starts_with('#')) continue;
    try {
      HeldOutWords({std::string(line)});
    } catch (const Error& error) {
      throw Error(fmt::format("{}:{}: {}", origin, number, error.what()));
    }
    if (known.emplace(line).second) words.emplace_back(line);
  }
  if (words.empty()) throw Error(fmt::format("{}: holds no word; write a word a line", origin));
  return words;
}

std::vector<std::string> load_held_out_words(const std::filesystem::path& path) {
  return parse_held_out_words(read_text(path, kMaxHeldOutBytes), path.string());
}

}  // namespace semfuse
