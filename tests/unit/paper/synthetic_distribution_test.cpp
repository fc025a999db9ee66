#include "paper/synthetic_distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "paper/synthetic_corpus.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

// The entropy of a sentence by the chain rule over the states.
double entropy(const SyntheticDistribution& distribution) {
  const std::vector<double> visits = distribution.visits();
  double total = 0.0;
  for (std::size_t state = 0; state < distribution.num_states(); ++state) {
    for (const auto& choice : distribution.choices(state)) {
      if (choice.probability > 0.0) total -= visits[state] * choice.probability * std::log(choice.probability);
    }
  }
  return total;
}

TEST(SyntheticDistribution, ProbabilitiesOfAStateSumToOne) {
  for (const double second_clause : {0.0, 0.6, 1.0}) {
    const SyntheticDistribution distribution(second_clause, {"Bob", "very", "great"});
    for (std::size_t state = 0; state + 1 < distribution.num_states(); ++state) {
      double sum = 0.0;
      for (const auto& choice : distribution.choices(state)) {
        sum += choice.probability;
        EXPECT_GT(choice.next, state);
        EXPECT_LT(choice.next, distribution.num_states());
      }
      EXPECT_NEAR(sum, 1.0, 1e-12) << state;
    }
    EXPECT_NEAR(distribution.visits().back(), 1.0, 1e-12);
  }
}

TEST(SyntheticDistribution, HasTheEntropyComputedByHand) {
  EXPECT_NEAR(entropy(SyntheticDistribution(0.6)), 14.547, 5e-4);
}

// Every sentence of one clause, by loops over the word lists and the shares of the paper.
TEST(SyntheticDistribution, EqualsTheSumOverAllSentencesOfOneClause) {
  const SyntheticDistribution distribution(0.0);
  double mass = 0.0, brute_force = 0.0;
  std::size_t count = 0;
  std::vector<std::string_view> adjectives(kSyntheticPositive.begin(), kSyntheticPositive.end());
  adjectives.insert(adjectives.end(), kSyntheticNegative.begin(), kSyntheticNegative.end());
  for (const SyntheticSubject& subject : kSyntheticSubjects) {
    for (const std::string_view verb : kSyntheticVerbs) {
      for (const std::string_view object : kSyntheticObjects) {
        for (const SyntheticIntensifier& intensifier : kSyntheticIntensifiers) {
          for (const std::string_view adjective : adjectives) {
            for (const SyntheticMark& mark : kSyntheticFinalMarks) {
              const double p = 1.0 / 125.0 * static_cast<double>(intensifier.weight) / 9.0 / 10.0 *
                               static_cast<double>(mark.weight) / 12.0;
              Sentence sentence;
              for (const std::string_view word : {subject.name, verb, kSyntheticArticle, object, kSyntheticComma,
                                                  intensifier.word, adjective, mark.word}) {
                sentence.emplace_back(word);
              }
              const std::optional<double> found = distribution.log_probability(sentence);
              ASSERT_TRUE(found) << join_words(sentence);
              ASSERT_NEAR(*found, std::log(p), 1e-9);
              mass += p;
              brute_force -= p * std::log(p);
              ++count;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(count, 15000u);
  EXPECT_NEAR(mass, 1.0, 1e-9);
  EXPECT_NEAR(brute_force, entropy(distribution), 1e-9);
}

// The mean surprise of sentences that the generator draws is the entropy, within four standard errors.
TEST(SyntheticDistribution, AgreesWithWhatTheGeneratorDraws) {
  const std::vector<std::string> held_out = {"Bob", "great", "awful", "task"};
  constexpr std::size_t kSentences = 40000;
  const Corpus corpus =
      make_synthetic_corpus({.seed = 77, .train = kSentences, .val = kSentences, .held_out = held_out});
  for (const auto& [sentences, left_out] :
       {std::pair{corpus.val, std::vector<std::string>()}, std::pair{corpus.train, held_out}}) {
    const SyntheticDistribution distribution(0.6, left_out);
    double sum = 0.0, squares = 0.0;
    for (const Sentence& sentence : sentences) {
      const std::optional<double> log_probability = distribution.log_probability(sentence);
      ASSERT_TRUE(log_probability) << join_words(sentence);
      sum -= *log_probability;
      squares += *log_probability * *log_probability;
    }
    const double mean = sum / kSentences;
    const double error = std::sqrt((squares / kSentences - mean * mean) / kSentences);
    EXPECT_NEAR(mean, entropy(distribution), 4.0 * error);
    EXPECT_LT(error, 0.03);
  }
}

TEST(SyntheticDistribution, RefusesWhatIsNotDrawn) {
  const SyntheticDistribution distribution(0.6, {"great"});
  const auto drawn = [&](std::string_view text) { return distribution.log_probability(split_words(text)).has_value(); };
  EXPECT_TRUE(drawn("Alice reviews the paper, very good!"));
  EXPECT_TRUE(drawn("Bob reviews the paper, very good and he cooks the meal, slightly bad."));
  EXPECT_FALSE(drawn("Bob reviews the paper, very good and she cooks the meal, slightly bad."));
  EXPECT_FALSE(drawn("Alice reviews the paper, very great!"));
  EXPECT_FALSE(drawn("Alice reviews the paper, very good"));
  EXPECT_FALSE(drawn("Alice reviews the paper, very good!!"));
  EXPECT_FALSE(drawn(""));
  EXPECT_FALSE(SyntheticDistribution(0.0).log_probability(
      split_words("Bob reviews the paper, very good and he cooks the meal, slightly bad.")));
}

}  // namespace
}  // namespace semfuse
