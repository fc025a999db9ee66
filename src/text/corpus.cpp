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
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (!is_space(text[i])) {
      if (!is_mark(text[i])) {
        while (end < text.size() && !is_space(text[end]) && !is_mark(text[end])) ++end;
      }
      words.emplace_back(text.substr(i, end - i));
    }
    i = end;
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
