// Words that a model is never shown, so that it can be measured on them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/text_hash.h"

namespace semfuse {

// Immutable, so safe to share between threads.
class HeldOutWords {
 public:
  // Throws Error for what is no single word to a tokenizer.
  explicit HeldOutWords(const std::vector<std::string>& words);

  bool empty() const { return words_.empty(); }
  // Whether a text has one of them, in capitals or not.
  bool are_in(std::string_view text) const;

 private:
  std::unordered_set<std::string, TextHash, std::equal_to<>> words_;  // In lower case.
};

// A word a line; empty lines and those that begin with # do not count. Throws Error as "origin:line: what".
std::vector<std::string> parse_held_out_words(std::string_view text, std::string_view origin);
std::vector<std::string> load_held_out_words(const std::filesystem::path& path);

// A word as the tokens of a word tokenizer that it may be: with the space before it, and without.
std::vector<std::string> surfaces_of(std::string_view word);

}  // namespace semfuse
