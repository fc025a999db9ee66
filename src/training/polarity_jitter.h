// Polarities between the lexicon's: what makes a word readable and usable whose polarity no training word has.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batching/batch.h"
#include "semfuse/feature_bank.h"

namespace semfuse {

// Words that mean something else in a step than the lexicon says.
struct StepWords {
  std::vector<TokenId> ids;
  std::vector<float> features;  // [ids, num_features]: lex(w) in this step.
};

// In each step some of the words without identity get a polarity between 0 and their own, a tenth of them 0 itself, as
// input and as output.
// Immutable; what a step draws is a function of (seed, step, id).
class PolarityJitter {
 public:
  // `share` of the words without identity. `bank` is ungraded if memberships are learned.
  PolarityJitter(Vocabulary vocabulary, FeatureBank bank, double share, std::uint64_t seed);

  // Changes the features of the sentences that have such a word. `identity` says by id which words have their own.
  StepWords apply(std::span<const std::uint8_t> identity, std::uint64_t step, Batch& batch) const;

 private:
  Vocabulary vocabulary_;
  FeatureBank bank_;
  double share_;
  std::uint64_t seed_;
};

}  // namespace semfuse
