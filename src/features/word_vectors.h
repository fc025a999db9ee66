// Dense vectors of words by their spelling: a word that was met while they were trained has its own, any other the mean
// of those of its parts, which are runs of 3 to 5 characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text_hash.h"

namespace semfuse {

// What is trained: numbers as they come, of words and of parts. A part is known by its hash modulo kBuckets.
struct WordVectorTables {
  std::size_t width = 0;
  std::vector<std::string> words;    // In lower case, each once.
  std::vector<float> word_rows;      // [words, width]: the mean over the word and its parts.
  std::vector<std::uint32_t> parts;  // Ascending.
  std::vector<float> part_rows;      // [parts, width]
};

// Vectors point from the mean of all words and have the same length, so that they say what a word is like, not how
// often it was met. Numbers are rounded to 8 bits. Immutable, so safe to share between threads.
class WordVectors {
 public:
  static constexpr std::size_t kMaxWidth = 1024;
  static constexpr std::uint32_t kBuckets = 1 << 16;
  static constexpr std::size_t kShortestPart = 3;
  static constexpr std::size_t kLongestPart = 5;

  explicit WordVectors(const WordVectorTables& tables);

  // Reads what bytes() wrote. Throws Error as "origin: what" for anything else.
  static WordVectors parse(std::string_view bytes, std::string_view origin);
  std::string bytes() const;

  std::size_t width() const { return mean_.size(); }
  // All zeros if nothing of the spelling was met. Upper and lower case are the same.
  std::vector<float> vector_of(std::string_view word) const;
  // Whether anything of the spelling was met.
  bool knows(std::string_view word) const;

  // The same with other vectors for some words, a row each: for words that are not what their spelling says.
  WordVectors with(std::span<const std::string> words, std::span<const float> rows) const;

  // What a token's vector is made of: that of its word, then whether a space is before it, and whether it begins with a
  // capital letter, which the vector does not say.
  std::size_t num_columns() const { return width() + 2; }
  // [num_columns()], for the bytes of a token of a word tokenizer.
  std::vector<float> columns_of(std::string_view surface) const;

 private:
  WordVectors() = default;
  void index();
  // False if there is nothing to say.
  bool add_row_of(std::string_view lower, std::span<float> row) const;

  std::vector<float> mean_;
  std::vector<std::string> words_;
  std::vector<std::int8_t> word_rows_;  // From the mean; their length does not count.
  std::vector<std::uint32_t> parts_;
  std::vector<float> part_scales_;
  std::vector<std::int8_t> part_rows_;  // Times the scale.
  TextMap<std::uint32_t> places_;       // Of words.
};

// The hashes of the parts of a word, modulo kBuckets, as fastText counts them: with < before the word and > after it.
std::vector<std::uint32_t> word_parts(std::string_view word);

}  // namespace semfuse
