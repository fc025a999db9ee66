#include <algorithm>
#include <cassert>
#include <cmath>

#include "decoding/sampler.h"

namespace semfuse {

namespace {

using Distribution = std::vector<TokenProbability>;

constexpr auto is_before = [](const TokenProbability& a, const TokenProbability& b) {
  return a.probability != b.probability ? a.probability > b.probability : a.id < b.id;
};

void normalize(Distribution& distribution) {
  double sum = 0.0;
  for (const TokenProbability& entry : distribution) sum += entry.probability;
  for (TokenProbability& entry : distribution) entry.probability /= sum;
}

// Keeps the nucleus of a sorted distribution.
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

// Softmax over the entries, whose probabilities hold logits.
void softmax(Distribution& entries, double temperature) {
  double largest = -INFINITY;
  for (const TokenProbability& entry : entries) largest = std::max(largest, entry.probability);
  for (TokenProbability& entry : entries) entry.probability = std::exp((entry.probability - largest) / temperature);
  normalize(entries);
}

// Tokens that are not ruled out, with their logits in place of probabilities.
Distribution possible_tokens(std::span<const double> logits) {
  Distribution result;
  result.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] != -INFINITY) result.push_back({static_cast<TokenId>(id), logits[id]});
  }
  return result;
}

bool is_truncated(const SamplingOptions& options) {
  return options.top_k > 0 || options.top_p < 1.0;
}

bool is_greedy(const SamplingOptions& options) {
  return options.greedy || options.temperature == 0.0;
}

}  // namespace

Distribution sampling_distribution(std::span<const double> logits, const SamplingOptions& options) {
  Distribution result = possible_tokens(logits);
  if (result.empty()) return result;
  if (is_greedy(options)) {
    return {{std::min_element(result.begin(), result.end(), is_before)->id, 1.0}};
  }
  if (is_truncated(options))
    std::sort(result.begin(), result.end(), is_before);  // By logit, so that top-k sees no rounding.
  if (options.top_k > 0) result.resize(std::min(options.top_k, result.size()));
  softmax(result, options.temperature);
  std::sort(result.begin(), result.end(), is_before);
  keep_nucleus(result, options.top_p, options.nucleus);
  return result;
}

Distribution mixture_distribution(std::span<const double> logits, std::span<const TokenId> tokens,
                                  const ClassMixture& mixture, Nucleus nucleus) {
  Distribution result;
  for (const TokenId id : tokens) result.push_back({id, logits[static_cast<std::size_t>(id)]});
  if (result.empty()) return result;
  softmax(result, mixture.temperature);
  for (TokenProbability& entry : result) {
    entry.probability = (1.0 - mixture.alpha) * entry.probability + mixture.alpha / static_cast<double>(result.size());
  }
  std::sort(result.begin(), result.end(), is_before);
  keep_nucleus(result, mixture.top_p, nucleus);
  return result;
}

namespace {

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

}  // namespace

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
  if (is_greedy(options) || is_truncated(options)) {
    const Distribution distribution = sampling_distribution(logits, options);
    if (distribution.empty() || std::isnan(distribution.back().probability)) return std::nullopt;
    return drawn_from(distribution, uniform);
  }
  Distribution entries = possible_tokens(logits);
  if (entries.empty()) return std::nullopt;
  softmax(entries, options.temperature);
  if (std::isnan(entries.front().probability)) return std::nullopt;
  return drawn_by_id(entries, uniform);
}

}  // namespace semfuse
