// The same seed gives the same bytes for any number of processes, each with any number of threads.
#include <gtest/gtest.h>

#include <cmath>

#include "semfuse/synthetic_corpus.h"
#include "support/small_training.h"
#include "support/thread_exchange.h"

namespace semfuse {
namespace {

struct Result {
  std::vector<std::vector<float>> numbers;  // Weights and moments.
  std::vector<double> losses;
  std::vector<double> norms;
  std::size_t leaves = 0;

  bool operator==(const Result&) const = default;
};

std::vector<std::vector<float>> copies_of(const std::vector<NamedParameter>& parameters) {
  std::vector<std::vector<float>> copies;
  for (const NamedParameter& parameter : parameters)
    copies.emplace_back(parameter.values.begin(), parameter.values.end());
  return copies;
}

// Everything that a step draws or learns is on: dropout, knobs, memberships, words without identity, jitter.
Experiment full_experiment() {
  Experiment experiment = small_experiment();
  experiment.features.bank = FeatureSet::open;
  experiment.features.learn_kernel = true;
  experiment.model.output_features = true;
  experiment.model.open_vocabulary = true;
  experiment.model.knobs = {parse_knob("polarity: probability of polarity"),
                            parse_knob("strength: scalar of strength from 0.2 to 1")};
  experiment.training.class_loss = 0.3;
  experiment.training.identity_dropout = 0.3;
  experiment.training.polarity_jitter = 0.5;
  experiment.training.label_smoothing = 0.02;
  experiment.training.uniformity_loss = 0.1;
  return experiment;
}

Result trained(const Experiment& experiment, std::uint64_t steps, std::size_t threads,
               const std::shared_ptr<Exchange>& exchange) {
  LanguageModel model(experiment.model, Vocabulary::from_words(synthetic_corpus_words()),
                      FeatureBank(synthetic_lexicon(), experiment.features), experiment.seed);
  const Corpus corpus = make_synthetic_corpus(synthetic_corpus_options(experiment));
  Trainer trainer(model, corpus.train, experiment.training,
                  {.seed = experiment.seed, .threads = threads, .exchange = exchange});
  Result result;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const StepReport report = trainer.step();
    result.losses.push_back(report.loss);
    result.norms.push_back(report.gradient_norm);
    result.leaves = std::max(result.leaves, report.num_leaves);
  }
  result.numbers = copies_of(model.parameters());
  for (auto& moment : copies_of(trainer.state().first_moments)) result.numbers.push_back(std::move(moment));
  for (auto& moment : copies_of(trainer.state().second_moments)) result.numbers.push_back(std::move(moment));
  return result;
}

class Processes : public testing::TestWithParam<bool> {};

TEST_P(Processes, WeightsMomentsAndLossesAreThoseOfOne) {
  Experiment experiment = GetParam() ? full_experiment() : small_experiment(false);
  experiment.training.grain = 20;
  const Result expected = trained(experiment, 5, 1, nullptr);
  ASSERT_GT(expected.leaves, 4u);
  for (const double loss : expected.losses) ASSERT_TRUE(std::isfinite(loss));
  for (const std::size_t ranks : {1, 2, 3, 4}) {
    for (const std::size_t threads : {1, 2, 3}) {
      std::vector<Result> results(ranks);
      on_ranks(ranks, [&](const std::shared_ptr<Exchange>& exchange) {
        results[exchange->rank()] = trained(experiment, 5, threads, exchange);
      });
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        EXPECT_TRUE(results[rank] == expected) << "rank " << rank << " of " << ranks << ", " << threads << " threads";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Processes, testing::Bool());

TEST(ProcessesWithoutWork, HaveTheSameWeightsToo) {
  const Experiment experiment = small_experiment();
  const Result expected = trained(experiment, 4, 1, nullptr);
  ASSERT_EQ(expected.leaves, 1u);
  std::vector<Result> results(3);
  on_ranks(3, [&](const std::shared_ptr<Exchange>& exchange) {
    results[exchange->rank()] = trained(experiment, 4, 1, exchange);
  });
  for (const Result& result : results) EXPECT_TRUE(result == expected);
}

TEST(Grain, ThatIsAWholeBatchChangesNothing) {
  Experiment experiment = small_experiment();
  const Result plain = trained(experiment, 4, 2, nullptr);
  experiment.training.grain = 10'000;
  EXPECT_TRUE(trained(experiment, 4, 2, nullptr) == plain);
  experiment.training.grain = 20;
  const Result fine = trained(experiment, 4, 2, nullptr);
  EXPECT_FALSE(fine.numbers == plain.numbers);
  for (std::size_t i = 0; i < plain.losses.size(); ++i) EXPECT_NEAR(fine.losses[i], plain.losses[i], 1e-3);
}

}  // namespace
}  // namespace semfuse
