// The paper's synthetic corpus: its sentences, its lexicon, and the least perplexity that can be reached on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/lexicon.h"

namespace semfuse {

struct Evaluation;

struct SyntheticCorpusOptions {
  std::uint64_t seed = 1;      // Same seed and options, same sentences.
  std::size_t train = 8000;    // Number of training sentences.
  std::size_t val = 1200;      // Number of validation sentences.
  double second_clause = 0.6;  // Probability of a second clause, in [0, 1].
  // Subjects, verbs, objects, intensifiers and adjectives never drawn in training; validation draws from all.
  std::vector<std::string> held_out;
};

// Draws the paper's corpus. Sentence i of a split depends on (seed, split, i) only. Throws Error if a held-out word is
// not of one of these classes, or if a class (adjectives: a polarity) would have no word left to train on.
Corpus make_synthetic_corpus(const SyntheticCorpusOptions& options);

// Every word the synthetic corpus can produce, sorted.
std::vector<std::string> synthetic_corpus_words();

// What they mean; and "they", which the corpus never draws: lexicons/synthetic.tsv.
Lexicon synthetic_lexicon();

// The paper's held-out adjectives: three of each polarity.
std::vector<std::string> paper_held_out_words();

// Three adjectives of each polarity drawn by the seed, as in the authors' code.
std::vector<std::string> random_held_out_words(std::uint64_t seed);

// A subject, a verb, an object and an adjective of each polarity drawn by the seed.
std::vector<std::string> random_held_out_classes(std::uint64_t seed);

// What a predictor that knows the generator reaches on the synthetic corpus' validation sentences. In expectation no
// model that reads only the past is below its perplexity. Exact, from the generator's probabilities.
struct EntropyFloor {
  double nats = 0.0;       // Of a sentence, in the mean.
  double positions = 0.0;  // Of a sentence, in the mean.
  double perplexity = 0.0;
  // Over positions whose target is not held out. No bound: a model that expects no held-out word can be below it.
  double seen_only_perplexity = 0.0;
  double held_out_cross_entropy = 0.0;
  double after_held_out_cross_entropy = 0.0;
};

// In expectation, over all sentences that can be drawn. With count_end the certain position that reads <eos> counts
// too: 14.8 positions in the paper's corpus instead of 13.8.
EntropyFloor synthetic_floor(const SyntheticCorpusOptions& corpus, bool count_end);

// On these very sentences. A perplexity is measured on some sentences too, and they may be easier or harder than the
// mean, so this is the floor to compare it with. Throws Error for a sentence that the generator cannot draw.
EntropyFloor synthetic_floor_on(std::span<const Sentence> sentences, const SyntheticCorpusOptions& corpus,
                                bool count_end);

// A model's perplexity over that of the floor on the same sentences, with its 95 % interval over sentences. A model
// that reads only the past is below 1 by chance alone: the interval then holds 1 in 39 of 40 cases or more.
struct FloorRatio {
  double ratio = 0.0;
  double low = 0.0;  // NaN for a single sentence, like high.
  double high = 0.0;
};

// `evaluation` is that of the sentences, with the same count_end. Throws Error as synthetic_floor_on() does.
FloorRatio perplexity_over_floor(const Evaluation& evaluation, std::span<const Sentence> sentences,
                                 const SyntheticCorpusOptions& corpus, bool count_end);

}  // namespace semfuse
