// Drawing one token from a distribution.
#pragma once

#include <optional>
#include <span>

#include "semfuse/generator.h"

namespace semfuse {

// What draw() takes from a distribution, with its probability.
TokenProbability drawn_from(std::span<const TokenProbability> distribution, double uniform);

// The token that draw() takes from sampling_distribution(), with its probability, but nothing is sorted that need not
// be. Nothing if no token is left or a probability is not a number.
std::optional<TokenProbability> sample(std::span<const double> logits, const SamplingOptions& options, double uniform);

}  // namespace semfuse
