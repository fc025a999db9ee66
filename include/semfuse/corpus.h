// Sentences as lists of words, and the paper's synthetic corpus.
#pragma once

#include <cstdint>
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

struct SyntheticCorpusOptions {
  std::uint64_t seed = 1;      // Same seed and options, same sentences.
  std::size_t train = 8000;    // Number of training sentences.
  std::size_t val = 1200;      // Number of validation sentences.
  double second_clause = 0.6;  // Probability of a second clause, in [0, 1].
  // Subjects, verbs, objects, intensifiers and adjectives never drawn in training; validation draws from all.
  std::vector<std::string> held_out;
};

struct Corpus {
  std::vector<Sentence> train;
  std::vector<Sentence> val;
};

// Draws the paper's corpus. Sentence i of a split depends on (seed, split, i) only. Throws Error if a held-out word is
// not of one of these classes, or if a class (adjectives: a polarity) would have no word left to train on.
Corpus make_synthetic_corpus(const SyntheticCorpusOptions& options);

// Every word the synthetic corpus can produce, sorted.
std::vector<std::string> synthetic_corpus_words();

// The paper's held-out adjectives: three of each polarity.
std::vector<std::string> paper_held_out_words();

// Three adjectives of each polarity drawn by the seed, as in the authors' code.
std::vector<std::string> random_held_out_words(std::uint64_t seed);

// A subject, a verb, an object and an adjective of each polarity drawn by the seed.
std::vector<std::string> random_held_out_classes(std::uint64_t seed);

}  // namespace semfuse
