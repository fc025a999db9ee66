#include <algorithm>
#include <cassert>
#include <cmath>

#include "generation/sampler.h"
#include "generation/truncation.h"

namespace semfuse {

namespace {

// Distributions up to this size are sorted to be cut: their sums are then made in the order of the probabilities.
constexpr std::size_t kSorted = 512;

using Distribution = std::vector<TokenProbability>;

void normalize(Distribution& distribution) {
  double sum = 0.0;
  for (const TokenProbability& entry : distribution) sum += entry.probability;
  for (TokenProbability& entry : distribution) entry.probability /= sum;
}

// From logits to probabilities that are not normalised yet, the largest 1.
void exponentiate(Distribution& entries, double temperature) {
  double largest = -INFINITY;
  for (const TokenProbability& entry : entries) largest = std::max(largest, entry.probability);
  for (TokenProbability& entry : entries) entry.probability = std::exp((entry.probability - largest) / temperature);
}

bool is_truncated(const SamplingOptions& options) {
  return options.top_k > 0 || options.top_p < 1.0;
}

}  // namespace

bool is_greedy(const SamplingOptions& options) {
  return options.temperature == 0.0;
}

bool is_plain(const SamplingOptions& options) {
  return options.temperature == 1.0 && !is_truncated(options);
}

void keep_nucleus(Distribution& distribution, double top_p, Nucleus nucleus) {
  if (top_p >= 1.0) return;
  std::size_t kept = 0;
  double mass = 0.0;
  while (kept < distribution.size()) {
    if (nucleus == Nucleus::usual && mass >= top_p) break;
    if (nucleus == Nucleus::paper && kept > 0 && mass + distribution[kept].probability > top_p) break;
    mass += distribution[kept++].probability;
  }
  distribution.resize(kept);
  normalize(distribution);
}

Distribution possible_tokens(std::span<const double> logits) {
  Distribution result;
  result.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != -INFINITY) result.push_back({static_cast<TokenId>(id), logits[id]});
  }
  return result;
}

Distribution sampled(Distribution tokens, const SamplingOptions& options) {
  if (tokens.empty()) return tokens;
  if (is_greedy(options)) return {{std::ranges::min_element(tokens, is_more_probable)->id, 1.0}};
  if (tokens.size() <= kSorted && is_truncated(options)) {
    std::ranges::sort(tokens, is_more_probable);  // By logit, so that top-k sees no rounding.
    if (options.top_k > 0) tokens.resize(std::min(options.top_k, tokens.size()));
    exponentiate(tokens, options.temperature);
    normalize(tokens);
    std::ranges::sort(tokens, is_more_probable);
    keep_nucleus(tokens, options.top_p, options.nucleus);
    std::ranges::sort(tokens, {}, &TokenProbability::id);
    return tokens;
  }
  if (options.top_k > 0) keep_largest(tokens, options.top_k);
  exponentiate(tokens, options.temperature);
  if (options.top_p < 1.0) keep_most_probable(tokens, options.top_p, options.nucleus);
  normalize(tokens);
  return tokens;
}

Distribution sampling_distribution(std::span<const double> logits, const SamplingOptions& options) {
  Distribution result = sampled(possible_tokens(logits), options);
  std::ranges::sort(result, is_more_probable);
  return result;
}

TokenProbability drawn_by_id(std::span<const TokenProbability> ascending, double uniform) {
  double cumulative = 0.0;
  for (const TokenProbability& entry : ascending) {
    cumulative += entry.probability;
    if (uniform < cumulative) return entry;
  }
  // Rounding left the sum a little below 1.
  const auto last = std::find_if(ascending.rbegin(), ascending.rend(),
                                 [](const TokenProbability& entry) { return entry.probability > 0.0; });
  return last == ascending.rend() ? ascending.back() : *last;
}

TokenProbability drawn_from(std::span<const TokenProbability> distribution, double uniform) {
  assert(!distribution.empty());
  Distribution ascending(distribution.begin(), distribution.end());
  std::ranges::sort(ascending, {}, &TokenProbability::id);
  return drawn_by_id(ascending, uniform);
}

TokenId draw(std::span<const TokenProbability> distribution, double uniform) {
  return drawn_from(distribution, uniform).id;
}

std::optional<TokenProbability> sample(std::span<const double> logits, const SamplingOptions& options, double uniform) {
  const Distribution distribution = sampled(possible_tokens(logits), options);
  if (distribution.empty() || std::isnan(distribution.back().probability)) return std::nullopt;
  return drawn_by_id(distribution, uniform);
}

}  // namespace semfuse
