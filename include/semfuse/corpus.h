// Sentences as lists of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

// Words and punctuation marks of one sentence, without <bos> and <eos>: {"Alice", "reviews", "the", "paper", ",",
// "very", "good", "!"}.
using Sentence = std::vector<std::string>;

// Splits text at spaces and sets punctuation marks (, . ! ?) apart: "the paper, very good!" has six words.
Sentence split_words(std::string_view text);

// Joins words as English does: no space before a punctuation mark. The inverse of split_words for such text.
std::string join_words(const Sentence& sentence);

// Sentences to train on and to measure with.
struct Corpus {
  std::vector<Sentence> train;
  std::vector<Sentence> val;
};

}  // namespace semfuse
