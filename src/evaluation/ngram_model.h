// An n-gram language model with interpolated, modified Kneser-Ney smoothing: what a neural one must be better than.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "semfuse/dataset.h"

namespace semfuse {

struct NgramOptions {
  std::size_t order = 5;   // Tokens of the longest n-gram; 1 or more.
  bool count_end = false;  // As EvaluationOptions::count_end: <pad> follows <eos>.
  // Of more training tokens than these only every second, third, ... text is counted. A token takes about 80 bytes.
  std::uint64_t max_tokens = 20'000'000;
  // Told which share of the work is done, now and then.
  std::function<void(double done)> on_progress;
};

// After Chen and Goodman, "An empirical study of smoothing techniques" (1998), section 3: three discounts for each
// order, estimated from counts of counts, interpolated down to the uniform distribution over the whole vocabulary.
// Below the highest order an n-gram counts once for each token that it was met behind, and once for each beginning of a
// text that it stood at. Immutable, so safe to share between threads; a function of the training texts alone.
class NgramModel {
 public:
  // Counts the training texts; every id is below vocab_size. Pieces of a text that follow each other are counted as one
  // text. Throws Error if there are none, or if the machine has not the memory.
  NgramModel(const Dataset& training, std::size_t vocab_size, const NgramOptions& options = {});

  // P(next | history), where the history is what the text has before it, from <bos> or later on; more than the last
  // order - 1 tokens of it make no difference. Above 0; over all tokens the sum is 1.
  double probability(std::span<const TokenId> history, TokenId next) const;

  std::size_t order() const { return levels_.size(); }
  std::uint64_t num_tokens() const { return num_tokens_; }  // That were counted.
  std::uint64_t stride() const { return stride_; }          // Every text was counted if 1, every second if 2.

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // What follows a context.
  struct Followers {
    std::uint32_t count = 0;  // Of all of them together; 0: it is no context.
    double weight = 0.0;      // That the next shorter context gets.
  };

  // The n-grams of one length, as nodes of a tree that reads them from their last token back: the children of one are
  // those with a token more before it. Node i of the first level is token i.
  struct Level {
    std::vector<std::uint32_t> tokens;       // The first token of each; ascending among siblings. Empty in level 1.
    std::vector<std::uint32_t> first_child;  // In the next level; one more than there are nodes. Empty in the last.
    std::vector<std::uint32_t> counts;       // Of each, as its order counts.
    std::vector<Followers> followers_of;     // Contexts of these n-grams: nodes of the level before; one in level 1.
    std::array<double, 4> discounts{};       // By the count: none, 1, 2, 3 or more.
  };

  class Builder;

  // The child, in a level, of a node of the level before; kNone if there is none.
  std::uint32_t child(std::size_t level, std::uint32_t node, std::uint32_t token) const;

  std::size_t vocab_size_;
  std::uint64_t num_tokens_ = 0;
  std::uint64_t stride_ = 1;
  std::vector<Level> levels_;
};

struct NgramEvaluation {
  std::size_t num_positions = 0;
  double perplexity = 0.0;
  double bits_per_byte = 0.0;  // NaN if the bytes are not known.
};

// Measures it on the positions that evaluate() measures a model on. Throws Error if there is no text.
NgramEvaluation evaluate(const NgramModel& model, const Dataset& texts, bool count_end);

}  // namespace semfuse
