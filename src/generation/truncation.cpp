#include "generation/truncation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "generation/sampler.h"

namespace semfuse {

namespace {

using Distribution = std::vector<TokenProbability>;

// Tokens of a bucket come before all tokens of the next one.
constexpr std::size_t kBuckets = 1024;

// Written without a branch, since nobody can guess which tokens are kept.
template <class Keep>
void keep_if(Distribution& tokens, const Keep& keep) {
  std::size_t kept = 0;
  for (const TokenProbability token : tokens) {
    tokens[kept] = token;
    kept += static_cast<std::size_t>(keep(token));
  }
  tokens.resize(kept);
}

// Few of many.
template <class Choose>
Distribution chosen(const Distribution& tokens, const Choose& choose) {
  Distribution result;
  for (const TokenProbability& token : tokens) {
    if (choose(token)) result.push_back(token);
  }
  return result;
}

// Leaves out what comes after `last` in the order of a distribution.
void cut_after(Distribution& tokens, TokenProbability last) {
  keep_if(tokens, [last](const TokenProbability& token) {
    return (token.probability > last.probability) | ((token.probability == last.probability) & (token.id <= last.id));
  });
}

// 32 buckets from 1 to one half, 32 to a quarter and so on: the leading bits of a
// number that is at most 1.
std::size_t bucket_of(double weight) {
  constexpr int kShift = 52 - 5;
  constexpr std::uint64_t kOne = std::bit_cast<std::uint64_t>(1.0) >> kShift;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(weight) >> kShift;
  return std::min<std::uint64_t>(kOne - bits, kBuckets - 1);
}

}  // namespace

void keep_largest(Distribution& tokens, std::size_t k) {
  if (k >= tokens.size()) return;
  const auto [least, most] = std::ranges::minmax(tokens, {}, &TokenProbability::probability);
  const double range = most.probability - least.probability;
  if (!std::isfinite(range)) return;  // A logit is no number; the probabilities will say so.
  const double scale = static_cast<double>(kBuckets - 1) / std::max(range, 1e-30);
  const auto bucket = [&, top = most.probability](const TokenProbability& token) {
    return static_cast<std::size_t>((top - token.probability) * scale);
  };
  std::vector<std::size_t> count(kBuckets, 0);
  for (const TokenProbability& token : tokens) ++count[bucket(token)];
  std::size_t crossing = 0;
  std::size_t before = 0;
  while (before + count[crossing] < k) before += count[crossing++];
  Distribution some = chosen(tokens, [&](const TokenProbability& token) { return bucket(token) == crossing; });
  const auto last = some.begin() + static_cast<std::ptrdiff_t>(k - before) - 1;
  std::nth_element(some.begin(), last, some.end(), is_more_probable);
  cut_after(tokens, *last);
}

void keep_most_probable(Distribution& tokens, double top_p, Nucleus nucleus) {
  std::vector<double> mass_of(kBuckets, 0.0);
  for (const TokenProbability& token : tokens) mass_of[bucket_of(token.probability)] += token.probability;
  const double goal = top_p * std::accumulate(mass_of.begin(), mass_of.end(), 0.0);
  if (!std::isfinite(goal)) return;
  const auto ends = [&](double mass, double next) {
    return nucleus == Nucleus::usual ? mass >= goal : next > 0.0 && mass + next > goal;
  };
  std::size_t crossing = 0;
  double mass = 0.0;
  while (crossing + 1 < kBuckets && !ends(mass + mass_of[crossing], 0.0) && !ends(mass, mass_of[crossing]))
    mass += mass_of[crossing++];
  Distribution some =
      chosen(tokens, [&](const TokenProbability& token) { return bucket_of(token.probability) == crossing; });
  std::ranges::sort(some, is_more_probable);
  std::size_t kept = 0;
  while (kept < some.size() && (mass == 0.0 || !ends(mass, some[kept].probability))) mass += some[kept++].probability;
  if (kept > 0) return cut_after(tokens, some[kept - 1]);
  keep_if(tokens, [&](const TokenProbability& token) { return bucket_of(token.probability) < crossing; });
}

}  // namespace semfuse
