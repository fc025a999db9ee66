#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "core/random.h"
#include "paper/synthetic_distribution.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/synthetic_corpus.h"

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

// What evaluate() would say of a predictor with these nats for each sentence.
Evaluation evaluation_of(const std::vector<double>& nats) {
  return {.sentence_nats = nats};
}

std::vector<double> nats_of_the_generator(const std::vector<Sentence>& sentences) {
  std::vector<double> nats;
  for (const Sentence& sentence : sentences) nats.push_back(-*SyntheticDistribution(0.6).log_probability(sentence));
  return nats;
}

TEST(SampleFloor, IsTheGeneratorsOwnProbabilityOfTheSentences) {
  const SyntheticCorpusOptions corpus{.train = 0, .val = 20000, .held_out = paper_held_out_words()};
  const std::vector<Sentence> sentences = make_synthetic_corpus(corpus).val;
  const std::vector<double> nats = nats_of_the_generator(sentences);
  double sum = 0.0, positions = 0.0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    sum += nats[i];
    positions += static_cast<double>(sentences[i].size() + 1);
  }
  for (const bool count_end : {false, true}) {
    const EntropyFloor here = synthetic_floor_on(sentences, corpus, count_end);
    const EntropyFloor expected = synthetic_floor(corpus, count_end);
    if (!count_end) {
      EXPECT_NEAR(here.perplexity, std::exp(sum / positions), 1e-9);
    }
    EXPECT_NEAR(here.positions, expected.positions, 0.1);
    EXPECT_NEAR(here.perplexity, expected.perplexity, 0.01);
    EXPECT_NEAR(here.seen_only_perplexity, expected.seen_only_perplexity, 0.01);
    EXPECT_NEAR(here.held_out_cross_entropy, expected.held_out_cross_entropy, 1e-9);  // Each is one of ten.
    EXPECT_NEAR(here.after_held_out_cross_entropy, expected.after_held_out_cross_entropy, 0.03);
  }
}

// A perplexity below the expected floor was printed as if no model could have it; the generator itself has it on half
// of all samples.
TEST(SampleFloor, TheGeneratorIsNeverAboveOrBelowItself) {
  std::size_t below_expected = 0;
  for (const bool count_end : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const SyntheticCorpusOptions corpus{.seed = seed, .train = 0, .val = 100, .held_out = paper_held_out_words()};
      const std::vector<Sentence> sentences = make_synthetic_corpus(corpus).val;
      const FloorRatio ratio =
          perplexity_over_floor(evaluation_of(nats_of_the_generator(sentences)), sentences, corpus, count_end);
      EXPECT_EQ(ratio.ratio, 1.0);
      EXPECT_EQ(ratio.low, 1.0);
      EXPECT_EQ(ratio.high, 1.0);
      const EntropyFloor here = synthetic_floor_on(sentences, corpus, count_end);
      if (here.perplexity < synthetic_floor(corpus, count_end).perplexity) ++below_expected;
    }
  }
  EXPECT_GT(below_expected, 5U);
  EXPECT_LT(below_expected, 35U);
}

TEST(SampleFloor, TheIntervalHoldsTheRatioOfAllSentences) {
  // A predictor that gives the words of every sentence one nat too much or none, by a coin: half a nat in the mean.
  const SyntheticCorpusOptions corpus{.train = 0, .val = 4000};
  const std::vector<Sentence> sentences = make_synthetic_corpus(corpus).val;
  std::vector<double> nats = nats_of_the_generator(sentences);
  for (std::size_t i = 0; i < nats.size(); ++i)
    nats[i] += static_cast<double>(RandomStream(1, RandomPurpose::held_out, i).next_below(2));
  const FloorRatio ratio = perplexity_over_floor(evaluation_of(nats), sentences, corpus, /*count_end=*/true);
  EXPECT_NEAR(ratio.ratio, std::exp(0.5 / 14.8), 3e-3);
  EXPECT_LT(ratio.low, std::exp(0.5 / 14.8));
  EXPECT_GT(ratio.high, std::exp(0.5 / 14.8));
  // 1.96 · 0.5 nats / sqrt(4000) sentences / 14.8 positions on each side.
  EXPECT_NEAR(std::log(ratio.high / ratio.low), 2.0 * 1.96 * 0.5 / std::sqrt(4000.0) / 14.8, 1e-4);
  EXPECT_NEAR(ratio.ratio, std::sqrt(ratio.low * ratio.high), 1e-9);
}

TEST(SampleFloor, RefusesWhatTheGeneratorCannotDraw) {
  const std::vector<Sentence> foreign = {{"Bob", "sleeps", "."}};
  EXPECT_THROW(synthetic_floor_on(foreign, {}, false), Error);
  EXPECT_THROW(perplexity_over_floor(evaluation_of({1.0}), foreign, {}, false), Error);
  EXPECT_THROW(perplexity_over_floor(evaluation_of({}), foreign, {}, false), Error);
}

}  // namespace
}  // namespace semfuse
