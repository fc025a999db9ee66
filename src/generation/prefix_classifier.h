// FUDGE's classifier: how probable a label is after a prefix, by its words, pairs and triples.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "semfuse/steering_head.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Pairs and triples share this many weights by their hash.
constexpr std::size_t kPrefixWeights = std::size_t{1} << 17;

// Which weights a token adds to the log-odds of its text: of itself, of the pair and of the triple that it ends. Before
// <bos> stands <pad>.
struct PrefixTerms {
  std::size_t word;  // Of the words' weights,
  std::size_t pair;  // and of the others.
  std::size_t triple;
};
PrefixTerms prefix_terms(TokenId second_last, TokenId last, TokenId token);

// The classifier of a head. `head` must outlive it. Throws Error if its sizes are wrong.
class PrefixClassifier {
 public:
  PrefixClassifier(const SteeringHead& head, std::size_t vocab_size);

  // What the tokens of a text that grows have come to.
  struct SoFar {
    std::size_t num_tokens = 0;
    double sum = 0.0;
  };
  // Log-odds of the label after <bos> and some tokens. `so_far`, if it is there, is of their beginning, and then of
  // all.
  double log_odds(std::span<const TokenId> tokens, SoFar* so_far = nullptr) const;
  // The same if each of some tokens came next.
  void read(std::span<const TokenId> tokens, std::span<const TokenId> next, std::span<float> z) const;

 private:
  double term(TokenId second_last, TokenId last, TokenId token) const;

  std::vector<float> words_;
  std::vector<float> others_;
  double bias_;
};

}  // namespace semfuse
