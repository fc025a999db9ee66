// Draws from the logits of a large vocabulary. For one draw of thousands of tokens most of sample()'s time goes into
// copying and one exponential after the other; here vectors of logits become weights, and what top-p cuts off is found
// by sums over them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "semfuse/generator.h"
#include "semfuse/grammar.h"

namespace semfuse {

class LargeDraw {
 public:
  // Smaller vocabularies are sample()'s.
  static constexpr std::size_t kLeast = 513;

  // The token that sample() takes, but for rounding: <pad>, <bos> and what `allowed` lacks (null: nothing) are ruled
  // out. `logits` are finite, the temperature is above 0. Nothing if no token is left.
  std::optional<TokenProbability> draw(std::span<const float> logits, const TokenSet* allowed,
                                       const SamplingOptions& options, double uniform);

 private:
  void rule_out(std::span<const float> logits, const TokenSet* allowed);
  TokenProbability drawn(double sum, double uniform) const;
  std::vector<TokenProbability> likeliest(std::size_t k) const;
  double keep_nucleus_of(double sum, double top_p, Nucleus kind);

  // Up to a whole number of blocks.
  std::vector<float> logits_;  // Minus infinity where a token is ruled out.
  std::vector<double> weights_;
  std::vector<double> block_sums_;
  std::vector<double> some_;  // Weights among which the nucleus ends.
};

}  // namespace semfuse
