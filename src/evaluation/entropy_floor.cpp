#include <algorithm>
#include <cmath>
#include <limits>

#include "semfuse/evaluation.h"
#include "text/synthetic_distribution.h"

namespace semfuse {

EntropyFloor synthetic_floor(const SyntheticCorpusOptions& corpus, bool count_end) {
  const SyntheticDistribution distribution(corpus.second_clause);
  const auto is_held_out = [&](std::string_view word) {
    return std::find(corpus.held_out.begin(), corpus.held_out.end(), word) != corpus.held_out.end();
  };
  // Expected sums over a sentence: of nats, and of positions.
  struct Sum {
    double nats = 0.0;
    double positions = 0.0;
    double mean() const { return positions > 0.0 ? nats / positions : std::numeric_limits<double>::quiet_NaN(); }
  };
  Sum all, seen, held_out, after;
  const std::vector<double> visits = distribution.visits();
  std::vector<double> visits_after_held_out(distribution.num_states());  // Those that come from a held-out word.
  for (std::size_t state = 0; state < distribution.num_states(); ++state) {
    for (const auto& [word, probability, next] : distribution.choices(state)) {
      if (probability == 0.0) continue;
      const double nats = -std::log(probability);
      const auto add = [nats, probability = probability](Sum& sum, double share) {
        sum.nats += share * probability * nats;
        sum.positions += share * probability;
      };
      add(all, visits[state]);
      add(is_held_out(word) ? held_out : seen, visits[state]);
      add(after, visits_after_held_out[state]);
      if (is_held_out(word)) visits_after_held_out[next] += visits[state] * probability;
    }
  }
  if (count_end) {
    all.positions += 1.0;
    seen.positions += 1.0;
  }
  return {.nats = all.nats,
          .positions = all.positions,
          .perplexity = std::exp(all.mean()),
          .seen_only_perplexity = std::exp(seen.mean()),
          .held_out_cross_entropy = held_out.mean(),
          .after_held_out_cross_entropy = after.mean()};
}

}  // namespace semfuse
