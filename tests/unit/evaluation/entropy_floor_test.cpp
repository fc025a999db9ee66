#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "semfuse/evaluation.h"
#include "text/synthetic_distribution.h"

namespace semfuse {
namespace {

TEST(EntropyFloor, IsWhatWasComputedByHand) {
  const SyntheticCorpusOptions corpus{.held_out = paper_held_out_words()};
  const EntropyFloor floor = synthetic_floor(corpus, /*count_end=*/false);
  EXPECT_NEAR(floor.nats, 14.547, 5e-4);
  EXPECT_NEAR(floor.positions, 13.8, 1e-12);
  EXPECT_NEAR(floor.perplexity, 2.869, 5e-4);
  EXPECT_NEAR(floor.held_out_cross_entropy, std::log(10.0), 1e-12);
  EXPECT_NEAR(floor.after_held_out_cross_entropy, 1.196, 5e-4);
  const EntropyFloor with_end = synthetic_floor(corpus, /*count_end=*/true);
  EXPECT_NEAR(with_end.positions, 14.8, 1e-12);
  EXPECT_NEAR(with_end.perplexity, 2.672, 5e-4);
  EXPECT_EQ(with_end.nats, floor.nats);
  const EntropyFloor mixed =
      synthetic_floor({.held_out = {"Bob", "reviews", "paper", "great", "awful"}}, /*count_end=*/false);
  EXPECT_NEAR(mixed.held_out_cross_entropy, 1.80, 5e-3);
  EXPECT_NEAR(mixed.after_held_out_cross_entropy, 0.61, 5e-3);
}

TEST(EntropyFloor, WithoutHeldOutWordsHasNoneOfTheirs) {
  const EntropyFloor floor = synthetic_floor({}, /*count_end=*/false);
  EXPECT_TRUE(std::isnan(floor.held_out_cross_entropy));
  EXPECT_TRUE(std::isnan(floor.after_held_out_cross_entropy));
  EXPECT_EQ(floor.seen_only_perplexity, floor.perplexity);
}

// Brute force: the surprise of every word of many validation sentences under the frequencies of others in the same
// place, without any of the code's probabilities. A place is what decides about the next word: the word's number from
// the start, the pronoun's subject, and whether a sentence has a second clause.
TEST(EntropyFloor, AgreesWithFrequencies) {
  const std::vector<std::string> held_out = {"great", "awful", "Bob", "cooks"};
  const SyntheticCorpusOptions options{.seed = 5, .train = 0, .val = 60000, .held_out = held_out};
  const std::vector<Sentence> sentences = make_synthetic_corpus(options).val;
  const auto place = [](const Sentence& sentence, std::size_t t) {
    std::string context = std::to_string(t);
    if (t == 8 || t == sentence.size()) context += sentence[t - 1];  // Did the sentence end?
    if (t == 8) context += sentence[0];                              // Whose pronoun comes?
    return context;
  };
  std::map<std::string, std::map<std::string, double>> counts;
  const auto target = [](const Sentence& sentence, std::size_t t) {
    return t < sentence.size() ? sentence[t] : std::string("<eos>");
  };
  for (const Sentence& sentence : sentences) {
    for (std::size_t t = 0; t <= sentence.size(); ++t) counts[place(sentence, t)][target(sentence, t)] += 1.0;
  }
  const std::set<std::string> held(held_out.begin(), held_out.end());
  double nats = 0.0, held_nats = 0.0, after_nats = 0.0, seen_nats = 0.0;
  double positions = 0.0, held_positions = 0.0, after_positions = 0.0, seen_positions = 0.0;
  for (const Sentence& sentence : sentences) {
    for (std::size_t t = 0; t <= sentence.size(); ++t) {
      const auto& words = counts[place(sentence, t)];
      double total = 0.0;
      for (const auto& [word, count] : words) total += count;
      const double surprise = -std::log(words.at(target(sentence, t)) / total);
      nats += surprise;
      positions += 1.0;
      const bool is_held = held.contains(target(sentence, t));
      (is_held ? held_nats : seen_nats) += surprise;
      (is_held ? held_positions : seen_positions) += 1.0;
      if (t > 0 && held.contains(sentence[t - 1])) {
        after_nats += surprise;
        after_positions += 1.0;
      }
    }
  }
  const EntropyFloor floor = synthetic_floor(options, /*count_end=*/false);
  EXPECT_NEAR(std::exp(nats / positions), floor.perplexity, 0.003);
  EXPECT_NEAR(std::exp(seen_nats / seen_positions), floor.seen_only_perplexity, 0.003);
  EXPECT_NEAR(held_nats / held_positions, floor.held_out_cross_entropy, 0.01);
  EXPECT_NEAR(after_nats / after_positions, floor.after_held_out_cross_entropy, 0.01);
  EXPECT_NEAR(positions / static_cast<double>(sentences.size()), floor.positions, 0.05);
}

}  // namespace
}  // namespace semfuse
