// Drawing one token from a distribution.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// The order of a distribution: by descending probability, equals by id.
inline bool is_more_probable(const TokenProbability& a, const TokenProbability& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
}

// Keeps the nucleus of a distribution in that order, and makes its sum 1 again.
void keep_nucleus(std::vector<TokenProbability>& distribution, double top_p, Nucleus nucleus);

// Whether the distribution drawn from is the softmax of the logits.
bool is_plain(const SamplingOptions& options);
bool is_greedy(const SamplingOptions& options);

// Tokens that are not ruled out, by id, with their logits in place of probabilities.
std::vector<TokenProbability> possible_tokens(std::span<const double> logits);
// sampling_distribution() of such tokens, by id.
std::vector<TokenProbability> sampled(std::vector<TokenProbability> tokens, const SamplingOptions& options);

// What draw() takes from a distribution, with its probability; the first is for one that is by id.
TokenProbability drawn_by_id(std::span<const TokenProbability> ascending, double uniform);
TokenProbability drawn_from(std::span<const TokenProbability> distribution, double uniform);

// The token that draw() takes from sampling_distribution(), with its probability, but nothing is sorted that need not
// be. Nothing if no token is left or a probability is not a number.
std::optional<TokenProbability> sample(std::span<const double> logits, const SamplingOptions& options, double uniform);

}  // namespace semfuse
