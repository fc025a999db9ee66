#include "generation/repetition_rule.h"

#include <algorithm>
#include <cmath>

namespace semfuse {

RuleOutcome RepetitionRule::apply(const DecodingStep& step, std::span<double> logits) const {
  const std::size_t count = std::min(options_.last_k, step.tokens.size());
  const auto recent = step.tokens.last(count);
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const bool repeated =
        std::find(recent.begin() + static_cast<std::ptrdiff_t>(i) + 1, recent.end(), recent[i]) != recent.end();
    if (!repeated) logits[static_cast<std::size_t>(recent[i])] -= std::log(options_.penalty);
  }
  if (recent.empty()) return {};
  const auto last = static_cast<std::size_t>(recent.back());
  if (classes_[last] == Lexicon::kPunctuationClass) logits[last] -= std::log(options_.punctuation_penalty);
  return {};
}

}  // namespace semfuse
