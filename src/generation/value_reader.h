// The value head: what the next token would make of a label's probability tilts the model's distribution.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/workspace.h"
#include "generation/prefix_classifier.h"
#include "kernels/matmul.h"
#include "model/logit_rows.h"
#include "semfuse/steering_head.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// The head with one model's output rows, ready to read hidden states: z(v) = (M u + a)·(R row_v) + c·u + b_v + t with u
// = relu(B h + b) and t what words, pairs and triples of the text so far say, which the state, made to say what comes
// next, forgets. R row_v is computed once, so a token costs little beside a pass of the model.
class ValueReader {
 public:
  // Throws Error if the head's sizes are not those of the rows, which are read here and not needed later.
  ValueReader(const SteeringHead& head, const LogitRows& logit_rows);

  // After these tokens, the first of which is <bos>, with the hidden state [width] of the last.
  class Step {
   public:
    // z of each of these tokens, were it next.
    void read(std::span<const TokenId> next, std::span<float> z) const;

   private:
    friend ValueReader;
    const ValueReader* reader_ = nullptr;
    std::vector<float> query_;
    float prefix_ = 0.0f;
  };
  // `so_far` as PrefixClassifier::log_odds() takes it.
  Step at(std::span<const TokenId> tokens, std::span<const float> hidden,
          PrefixClassifier::SoFar* so_far = nullptr) const;

 private:
  std::size_t inner_;
  std::size_t rank_;
  std::size_t vocab_size_;
  AlignedFloats inner_map_, map_;  // Packed.
  std::vector<float> rows_;        // R row_v of each token, filled up to stride_.
  std::size_t stride_;
  std::vector<float> inner_bias_, map_bias_, prefix_, token_bias_;
  PrefixClassifier so_far_;
};

// The log-odds z of a label for some tokens, were each next.
using LogOdds = std::function<void(std::span<const TokenId> next, std::span<float> z)>;

// The log-odds of a label tilt the logits of tokens, the first of which is <eos>: times the share in which texts of
// this `target` have the label, s·x/π + (1-s)·(1-x)/(1-π) with s = σ(z), to the power `strength`. <eos> keeps its
// probability. Tokens that mostly come last (`ends`, their places in `logits`) get no more than they had together: a
// text that ends runs no more risk, which is no reason to end it. Where the text is not yet surely what is wanted and
// going on may make it so, they fall by eight times the strength more: a word can be made good while the text goes on,
// its end cannot. So does <eos> then, if there are such tokens: a prompt may be a whole text of the opposite kind.
// Tokens that are far less probable than the most probable one are not asked for: they fare as the worst that is.
void tilt_by_value(std::span<float> logits, const LogOdds& log_odds, double target, double share, double strength,
                   std::span<const std::size_t> ends = {});

// How sure the judge of a tempered head usually is, in log-odds: its labels were taken in units of that
// (train_steering), so it says how clear a text is, not only on which side, and a strength counts times this. 1: the
// head is none. Throws Error if the head is damaged.
double sureness_of(const SteeringHead& head);

// What a text is steered to by a tempered head where `target` is asked for, 0 or 1: a text that is clear has one side,
// so it takes one, and the share `target` of texts takes 1. That is 1 where a number on [0, 1) of the text's own is
// below the target. Of each 32 texts of a seed (those of `index` 32 k to 32 k + 31) these numbers lie in 32 equal
// parts, one in each, in random order. Every knob has numbers of its own.
double side_of(double target, std::uint64_t seed, std::uint64_t index, std::size_t knob);

// Which tokens these are by the head, counted from <eos> on; none if it does not say. Throws Error if it is of another
// size.
std::vector<std::size_t> ends_of(const SteeringHead& head, std::size_t vocab_size);

}  // namespace semfuse
