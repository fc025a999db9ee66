#include "semfuse/corpus.h"

namespace semfuse {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_mark(char c) {
  return c == ',' || c == '.' || c == '!' || c == '?';
}

}  // namespace

Sentence split_words(std::string_view text) {
  Sentence words;
  bool inside_word = false;
  for (const char c : text) {
    if (is_space(c)) {
      inside_word = false;
    } else if (is_mark(c)) {
      words.emplace_back(1, c);
      inside_word = false;
    } else if (inside_word) {
      words.back().push_back(c);
    } else {
      words.emplace_back(1, c);
      inside_word = true;
    }
  }
  return words;
}

std::string join_words(const Sentence& sentence) {
  std::string text;
  for (const std::string& word : sentence) {
    const bool mark = word.size() == 1 && is_mark(word[0]);
    if (!text.empty() && !mark) text.push_back(' ');
    text += word;
  }
  return text;
}

}  // namespace semfuse
