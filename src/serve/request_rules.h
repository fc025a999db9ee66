// What requests of the API ask of logits besides temperature, top-k and nucleus.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// Adds to the logits of single tokens.
class BiasRule : public LogitRule {
 public:
  explicit BiasRule(std::vector<std::pair<TokenId, double>> biases) : biases_(std::move(biases)) {}
  std::string_view name() const override { return "logit_bias"; }
  RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  std::vector<std::pair<TokenId, double>> biases_;
};

// Rules out tokens whose probability, before temperature, is below that share of the most probable one's.
class MinPRule : public LogitRule {
 public:
  explicit MinPRule(double share) : share_(share) {}
  std::string_view name() const override { return "min_p"; }
  RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  double share_;
};

}  // namespace semfuse
