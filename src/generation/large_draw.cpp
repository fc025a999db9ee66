#include "generation/large_draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "generation/sampler.h"
#include "kernels/reductions.h"
#include "kernels/weights.h"

namespace semfuse {

namespace {

using Distribution = std::vector<TokenProbability>;

constexpr std::size_t kGroup = 16;  // Logits of which the largest stands for all where the k-th largest is looked for.
constexpr int kRounds = 3;
constexpr double kLeastWeight = 1e-300;

}  // namespace

void LargeDraw::rule_out(std::span<const float> logits, const TokenSet* allowed) {
  const std::size_t num_blocks = (logits.size() + kWeightBlock - 1) / kWeightBlock;
  logits_.resize(num_blocks * kWeightBlock);
  weights_.resize(logits_.size());
  block_sums_.resize(num_blocks);
  if (allowed == nullptr) {
    std::ranges::fill(std::ranges::copy(logits, logits_.begin()).out, logits_.end(), -INFINITY);
  } else {
    std::ranges::fill(logits_, -INFINITY);
    const std::span<const std::uint64_t> words = allowed->words();
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::uint64_t left = words[w]; left != 0; left &= left - 1) {
        const std::size_t id = 64 * w + static_cast<std::size_t>(std::countr_zero(left));
        logits_[id] = logits[id];
      }
    }
  }
  logits_[Vocabulary::kPad] = logits_[Vocabulary::kBos] = -INFINITY;
}

TokenProbability LargeDraw::drawn(double sum, double uniform) const {
  const double wanted = uniform * sum;
  double before = 0.0;
  std::size_t block = 0;
  std::size_t last = 0;  // The last block with a weight, in case rounding leaves the sum a little below.
  for (; block < block_sums_.size(); ++block) {
    if (wanted < before + block_sums_[block]) break;
    before += block_sums_[block];
    if (block_sums_[block] > 0.0) last = block;
  }
  if (block == block_sums_.size()) block = last;
  std::size_t found = block * kWeightBlock;
  for (std::size_t id = found; id < (block + 1) * kWeightBlock; ++id) {
    if (weights_[id] == 0.0) continue;
    found = id;
    before += weights_[id];
    if (wanted < before) break;
  }
  return {static_cast<TokenId>(found), weights_[found] / sum};
}

// No fewer than the k largest: the k-th largest of the largest of groups is not above the k-th largest of all.
Distribution LargeDraw::likeliest(std::size_t k) const {
  float least = -INFINITY;
  if (k <= logits_.size() / kGroup) {
    std::vector<float> largest;
    largest.reserve(logits_.size() / kGroup);
    for (std::size_t first = 0; first < logits_.size(); first += kGroup) {
      float most = logits_[first];
      for (std::size_t j = 1; j < kGroup; ++j) most = std::max(most, logits_[first + j]);
      largest.push_back(most);
    }
    const auto kth = largest.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(largest.begin(), kth, largest.end(), std::greater<>());
    least = *kth;
  }
  Distribution result;
  for (std::size_t id = 0; id < logits_.size(); ++id) {
    if (logits_[id] >= least && logits_[id] != -INFINITY) {
      result.push_back({static_cast<TokenId>(id), static_cast<double>(logits_[id])});
    }
  }
  return result;
}

// Leaves the weights of what keep_nucleus() keeps and returns their sum. Between a limit that keeps too little and one
// that keeps enough, others are tried until few weights are left, and these are sorted.
double LargeDraw::keep_nucleus_of(double sum, double top_p, Nucleus kind) {
  const std::size_t size = weights_.size();
  const double goal = top_p * sum;
  const auto enough = [&](double mass) { return kind == Nucleus::usual ? mass >= goal : mass > goal; };
  double high = 2.0;  // Weights are at most 1.
  // Tokens that have less than an even share of what is cut off have no more than that all together.
  double low = std::max((1.0 - top_p) * sum / static_cast<double>(size), kLeastWeight);
  double mass = 0.0;  // Of the weights from `high` on.
  for (int round = 0; round < kRounds; ++round) {
    WeightLimits limits{};
    const double step = std::pow(low / high, 1.0 / static_cast<double>(limits.size() + 1));
    double limit = high;
    for (double& each : limits) each = limit *= step;
    const WeightLimits masses = sums_from(weights_.data(), size, limits);
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (enough(masses[i])) {
        low = std::max(low, limits[i]);
        break;
      }
      high = limits[i];
      mass = masses[i];
    }
  }
  some_.resize(size);
  const std::span<double> some(some_.data(), weights_between(weights_.data(), size, low, high, some_.data()));
  std::ranges::sort(some, std::greater<>());
  std::size_t kept = 0;
  const bool none_yet = mass == 0.0;
  while (kept < some.size() && !(kind == Nucleus::usual ? enough(mass) : enough(mass + some[kept]))) {
    mass += some[kept++];
  }
  if (kept == 0 && none_yet && !some.empty()) kept = 1;
  if (kept == 0) return drop_weights_below(weights_.data(), size, high, block_sums_.data());
  const double last = some[kept - 1];
  // Of equal ones those of the smallest ids are kept.
  auto surplus = std::ranges::count(some.begin() + static_cast<std::ptrdiff_t>(kept), some.end(), last);
  for (std::size_t id = size; surplus > 0; --id) {
    if (weights_[id - 1] != last) continue;
    weights_[id - 1] = 0.0;
    --surplus;
  }
  return drop_weights_below(weights_.data(), size, last, block_sums_.data());
}

std::optional<TokenProbability> LargeDraw::draw(std::span<const float> logits, const TokenSet* allowed,
                                                const SamplingOptions& options, double uniform) {
  rule_out(logits, allowed);
  const float largest = largest_where(logits_.data(), 1.0f, logits_.data(), -INFINITY, logits_.size());
  if (largest == -INFINITY) return std::nullopt;
  if (options.top_k > 0) return drawn_by_id(sampled(likeliest(options.top_k), options), uniform);
  double sum = exponential_weights(logits_.data(), logits_.size(), largest, options.temperature, weights_.data(),
                                   block_sums_.data());
  if (options.top_p < 1.0) sum = keep_nucleus_of(sum, options.top_p, options.nucleus);
  return drawn(sum, uniform);
}

}  // namespace semfuse
