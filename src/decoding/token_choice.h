// One step of decoding: from the model's logits to the distribution that the next token is drawn from.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// The class of every vocabulary entry: that of the lexicon, `other` for words that it lacks; nothing for the special
// entries.
std::vector<std::optional<WordClass>> word_classes(const LanguageModel& model);

// The class that all allowed words have, those of class `other` apart; nothing if they differ or there are none.
std::optional<WordClass> slot_of(const TokenSet& allowed, std::span<const std::optional<WordClass>> classes);

// The rules of one request, ready to use. The request must outlive it.
class TokenChoice {
 public:
  explicit TokenChoice(const GenerationRequest& request);

  // The distribution of the next token. `logits` [vocab_size] are the model's. Throws Error if they are not finite or
  // nothing is left to choose from.
  std::vector<TokenProbability> distribution(const DecodingStep& step, std::span<const float> logits);

  // The token that draw() takes from that distribution, with its probability, sooner.
  TokenProbability draw(const DecodingStep& step, std::span<const float> logits, double uniform);

  // Whether a hard request met a slot that has nothing of what it asks for, and was dropped there.
  bool unmet() const { return unmet_; }

  // Of the last distribution, how it came about, for the token that was drawn from it.
  TokenExplanation explain(const DecodingStep& step, std::span<const TokenProbability> distribution,
                           TokenId chosen) const;

 private:
  void apply_rules(const DecodingStep& step, std::span<const float> logits);
  bool draws_from_mixture(const DecodingStep& step) const;
  std::vector<TokenProbability> mixture() const;

  const GenerationRequest& request_;
  std::vector<std::shared_ptr<const LogitRule>> rules_;
  bool unmet_ = false;
  std::vector<double> model_;    // The model's logits; -infinity for <pad> and <bos>.
  std::vector<double> allowed_;  // -infinity where the grammar forbids.
  std::vector<double> ruled_;    // After all rules.
  bool from_mixture_ = false;
};

}  // namespace semfuse
