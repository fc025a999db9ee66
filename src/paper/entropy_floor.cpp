#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluation/statistics.h"
#include "paper/synthetic_distribution.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

// Nats and positions, in expectation or counted.
struct Sum {
  double nats = 0.0;
  double positions = 0.0;

  void add(double more_nats, double weight) {
    nats += weight * more_nats;
    positions += weight;
  }
  double mean() const { return positions > 0.0 ? nats / positions : std::numeric_limits<double>::quiet_NaN(); }
};

struct Sums {
  Sum all, seen, held_out, after_held_out;

  // `sentences` is what the sums are over; an end that counts is a certain position of each.
  EntropyFloor floor(double sentences, bool count_end) {
    if (count_end) {
      all.positions += sentences;
      seen.positions += sentences;
    }
    return {.nats = all.nats / sentences,
            .positions = all.positions / sentences,
            .perplexity = std::exp(all.mean()),
            .seen_only_perplexity = std::exp(seen.mean()),
            .held_out_cross_entropy = held_out.mean(),
            .after_held_out_cross_entropy = after_held_out.mean()};
  }
};

bool is_held_out(const SyntheticCorpusOptions& corpus, std::string_view word) {
  return std::find(corpus.held_out.begin(), corpus.held_out.end(), word) != corpus.held_out.end();
}

// Calls visit(word, nats) for every word of the sentence and its <eos>.
template <class Visit>
void follow(const SyntheticDistribution& distribution, const Sentence& sentence, const Visit& visit) {
  std::size_t state = SyntheticDistribution::kStart;
  for (std::size_t t = 0; t <= sentence.size(); ++t) {
    const std::string_view word = t < sentence.size() ? std::string_view(sentence[t]) : "<eos>";
    const auto& choices = distribution.choices(state);
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const SyntheticDistribution::Choice& choice) {
      return choice.word == word && choice.probability > 0.0;
    });
    if (found == choices.end()) {
      throw Error(
          fmt::format("\"{}\" is no sentence of the synthetic corpus, so its floor is not known; measure on "
                      "sentences of that corpus",
                      join_words(sentence)));
    }
    visit(word, -std::log(found->probability));
    state = found->next;
  }
}

}  // namespace

EntropyFloor synthetic_floor(const SyntheticCorpusOptions& corpus, bool count_end) {
  const SyntheticDistribution distribution(corpus.second_clause);
  Sums sums;
  const std::vector<double> visits = distribution.visits();
  std::vector<double> visits_after_held_out(distribution.num_states());  // Those that come from a held-out word.
  for (std::size_t state = 0; state < distribution.num_states(); ++state) {
    for (const auto& [word, probability, next] : distribution.choices(state)) {
      if (probability == 0.0) continue;
      const double nats = -std::log(probability);
      const bool held_out = is_held_out(corpus, word);
      sums.all.add(nats, visits[state] * probability);
      (held_out ? sums.held_out : sums.seen).add(nats, visits[state] * probability);
      sums.after_held_out.add(nats, visits_after_held_out[state] * probability);
      if (held_out) visits_after_held_out[next] += visits[state] * probability;
    }
  }
  return sums.floor(1.0, count_end);
}

EntropyFloor synthetic_floor_on(std::span<const Sentence> sentences, const SyntheticCorpusOptions& corpus,
                                bool count_end) {
  const SyntheticDistribution distribution(corpus.second_clause);
  Sums sums;
  for (const Sentence& sentence : sentences) {
    bool after_held_out = false;
    follow(distribution, sentence, [&](std::string_view word, double nats) {
      const bool held_out = is_held_out(corpus, word);
      sums.all.add(nats, 1.0);
      (held_out ? sums.held_out : sums.seen).add(nats, 1.0);
      if (after_held_out) sums.after_held_out.add(nats, 1.0);
      after_held_out = held_out;
    });
  }
  return sums.floor(static_cast<double>(sentences.size()), count_end);
}

FloorRatio perplexity_over_floor(const Evaluation& evaluation, std::span<const Sentence> sentences,
                                 const SyntheticCorpusOptions& corpus, bool count_end) {
  if (evaluation.sentence_nats.size() != sentences.size()) {
    throw Error(fmt::format("the evaluation is of {} sentences, not of these {}; evaluate these",
                            evaluation.sentence_nats.size(), sentences.size()));
  }
  const SyntheticDistribution distribution(corpus.second_clause);
  std::vector<double> excess;     // Nats of each sentence above the floor.
  std::vector<double> positions;  // Of each sentence.
  double total_excess = 0.0, total_positions = 0.0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    double floor = 0.0;
    follow(distribution, sentences[i], [&](std::string_view, double nats) { floor += nats; });
    excess.push_back(evaluation.sentence_nats[i] - floor);
    positions.push_back(static_cast<double>(sentences[i].size() + (count_end ? 2 : 1)));
    total_excess += excess.back();
    total_positions += positions.back();
  }
  // The mean excess of a position is a ratio of two sums over sentences; its error is that of their residuals.
  const double mean = total_excess / total_positions;
  for (std::size_t i = 0; i < excess.size(); ++i) excess[i] -= mean * positions[i];
  const Estimate residual = estimate(excess);
  const double sentences_per_position = static_cast<double>(sentences.size()) / total_positions;
  const double half = (residual.high - residual.low) / 2.0 * sentences_per_position;
  return {.ratio = std::exp(mean), .low = std::exp(mean - half), .high = std::exp(mean + half)};
}

}  // namespace semfuse
