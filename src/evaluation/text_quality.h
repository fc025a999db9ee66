// What generated texts are measured by whatever they were asked for: how fluent, how varied and how long they are.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "evaluation/ngram_model.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// The words and marks of a text, without the blanks between them.
std::vector<std::string> words_of(std::string_view text);

// Of one-, two- and three-word sequences the share that is different, over the texts together: less if they repeat
// themselves. It falls with the number of texts, so only as many as `most_texts` are counted. 0 without any.
std::array<double, 3> distinct_sequences(std::span<const std::string> texts, std::size_t most_texts = 500);

// In words; 0 without texts.
double mean_length(std::span<const std::string> texts);

// A language model that takes no part in what it judges: words (rare ones in bytes) under a 5-gram of other texts.
// Immutable.
class FluencyModel {
 public:
  // Throws Error if the texts have nothing to count.
  explicit FluencyModel(std::span<const std::string> texts);

  // Of all texts together, over their words and ends: a word that is made of bytes counts once. Throws Error if there
  // is no text.
  double perplexity(std::span<const std::string> texts) const;

 private:
  Tokenizer tokenizer_;
  std::unique_ptr<const NgramModel> model_;
};

}  // namespace semfuse
