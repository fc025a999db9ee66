#include "generation/guidance.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace semfuse {

namespace {

constexpr double kPlausible = 0.1;  // Of the most probable token's probability.

// ln of the sum of exp over those values that `counts`.
template <typename Values, typename Counts>
double log_sum(const Values& values, const Counts& counts) {
  double largest = -INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (counts(i)) largest = std::max(largest, static_cast<double>(values[i]));
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (counts(i)) sum += std::exp(static_cast<double>(values[i]) - largest);
  }
  return largest + std::log(sum);
}

// Lets plausible tokens share as guided what they have as asked, and no other have more than that. `asked_sum` is of
// all tokens.
template <typename Values>
void hold_plausible(const Values& asked, double asked_sum, double most, std::vector<double>& guided) {
  const double least = most + std::log(kPlausible);
  const auto is_plausible = [&](std::size_t i) { return asked[i] >= least; };
  const double shift = log_sum(asked, is_plausible) - asked_sum - log_sum(guided, is_plausible);
  for (std::size_t i = 0; i < guided.size(); ++i)
    guided[i] = is_plausible(i) ? guided[i] + shift : std::min(guided[i], asked[i] - asked_sum);
}

bool all(std::size_t) {
  return true;
}

}  // namespace

void guide(std::span<const float> unasked, std::span<float> asked, double guidance, float most) {
  assert(unasked.size() == asked.size() && !asked.empty());
  const double unasked_sum = log_sum(unasked, all);
  const double asked_sum = log_sum(asked, all);
  std::vector<double> guided;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const double p0 = unasked[i] - unasked_sum;
    guided.push_back(p0 + guidance * (asked[i] - asked_sum - p0));
  }
  if (guidance > 1.0) hold_plausible(asked, asked_sum, most, guided);
  std::ranges::transform(guided, asked.begin(), [](double logit) { return static_cast<float>(logit); });
}

void guide(std::span<const float> unasked, std::span<float> asked, std::span<const GuidedPart> parts, float most) {
  assert(unasked.size() == asked.size() && !asked.empty());
  const double unasked_sum = log_sum(unasked, all);
  const double asked_sum = log_sum(asked, all);
  std::vector<double> guided;
  for (const float logit : asked) guided.push_back(logit - asked_sum);
  bool beyond = false;
  for (const GuidedPart& part : parts) {
    assert(part.logits.size() == asked.size());
    const double part_sum = log_sum(part.logits, all);
    for (std::size_t i = 0; i < asked.size(); ++i)
      guided[i] += (part.weight - 1.0) * ((part.logits[i] - part_sum) - (unasked[i] - unasked_sum));
    beyond = beyond || part.weight > 1.0;
  }
  if (beyond) hold_plausible(asked, asked_sum, most, guided);
  std::ranges::transform(guided, asked.begin(), [](double logit) { return static_cast<float>(logit); });
}

}  // namespace semfuse
