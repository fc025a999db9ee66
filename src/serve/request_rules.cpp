#include "serve/request_rules.h"

#include <algorithm>
#include <cmath>

namespace semfuse {

RuleOutcome BiasRule::apply(const DecodingStep&, std::span<double> logits) const {
  for (const auto& [id, bias] : biases_) {
    if (static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] += bias;
  }
  return {};
}

RuleOutcome MinPRule::apply(const DecodingStep&, std::span<double> logits) const {
  const double least = *std::ranges::max_element(logits) + std::log(share_);
  for (double& logit : logits) {
    if (logit < least) logit = -INFINITY;
  }
  return {};
}

}  // namespace semfuse
