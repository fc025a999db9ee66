// One step of decoding: from the model's logits to the distribution that the next token is drawn from.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "generation/knob_cells.h"
#include "generation/large_draw.h"
#include "generation/repetition_rule.h"
#include "semfuse/generator.h"

namespace semfuse {

// The rules of one request, ready to use. The request and the classes of the vocabulary's entries must outlive it.
class TokenChoice {
 public:
  TokenChoice(const GenerationRequest& request, std::span<const std::size_t> classes);

  // The distribution of the next token. `logits` [vocab_size] are the model's. The sampler keeps the shares of `cells`,
  // if there are any. Throws Error if logits are not finite or nothing is left to choose from.
  std::vector<TokenProbability> distribution(const DecodingStep& step, std::span<const float> logits,
                                             const TokenCells* cells = nullptr);

  // The token that draw() takes from that distribution, with its probability, sooner.
  TokenProbability draw(const DecodingStep& step, std::span<const float> logits, double uniform,
                        const TokenCells* cells = nullptr);

  // Of a token that was drawn from the last distribution.
  double log_probability(const TokenProbability& drawn) const;

  // Names of rules that found nothing of what they ask for, in any distribution so far.
  const std::set<std::string, std::less<>>& unmet() const { return unmet_; }

  // Of the last distribution, how it came about, for the token that was drawn from it. `unsteered` are the model's
  // logits before a source changed them; empty: none did.
  TokenExplanation explain(const DecodingStep& step, std::span<const TokenProbability> distribution, TokenId chosen,
                           std::span<const float> unsteered = {}) const;

 private:
  void apply_rules(const DecodingStep& step, std::span<const float> logits);
  bool draws_from_logits(std::size_t vocab_size, const TokenCells* cells) const;
  RuleOutcome apply_rule(const LogitRule& rule, const DecodingStep& step);
  std::vector<TokenProbability> final_distribution() const;

  const GenerationRequest& request_;
  std::optional<RepetitionRule> repetition_;
  LargeDraw large_draw_;
  std::set<std::string, std::less<>> unmet_;
  std::vector<double> model_;    // The model's logits; -infinity for <pad> and <bos>.
  std::vector<double> allowed_;  // -infinity where the grammar forbids.
  std::vector<double> ruled_;    // After all rules.
  bool final_ = false;           // A rule has made them logarithms of the probabilities to draw from.
};

}  // namespace semfuse
