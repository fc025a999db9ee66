// Cuts text by a regular expression that came with a tokenizer: every match is a piece, and so is what lies between
// two.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// GPT-2's, which most tokenizers have; first_word_length() does the same several times as fast.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// const functions may be called from several threads at once.
class SplitPattern {
 public:
  // Perl's syntax, as PCRE2 reads it, with Unicode classes. Throws Error (what is wrong, where in the pattern) if it is
  // none or is too large.
  explicit SplitPattern(std::string pattern);

  const std::string& pattern() const { return pattern_; }

  // Appends the pieces, views into the text, end to end and none empty. A byte that is not UTF-8 is a piece of its own,
  // but to GPT-2's pattern a mark. Throws Error if the pattern takes too much time or memory on this text: patterns
  // come from files and may be meant to.
  void split(std::string_view text, std::vector<std::string_view>& pieces) const;

 private:
  struct Code;  // What PCRE2 made of it; none for GPT-2's.
  void split_valid(std::string_view text, std::vector<std::string_view>& pieces) const;

  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

}  // namespace semfuse
