#include "semfuse/assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/memory_need.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_training.h"

namespace semfuse {
namespace {

TEST(Assembly, HasWhatTheExperimentSays) {
  Experiment experiment = small_experiment();
  experiment.corpus.held_out = {"great"};
  experiment.corpus.random_held_out = false;
  experiment.training.count_end = false;
  const Assembly assembly = assemble(experiment, 2);
  EXPECT_EQ(assembly.data.corpus.train, make_synthetic_corpus(synthetic_corpus_options(experiment)).train);
  EXPECT_EQ(assembly.data.corpus.val.size(), experiment.corpus.val);
  EXPECT_EQ(assembly.model.options().width, experiment.model.width);
  EXPECT_EQ(assembly.trainer_options.seed, experiment.seed);
  EXPECT_EQ(assembly.trainer_options.threads, 2U);
  EXPECT_EQ(assembly.evaluation.held_out, std::vector<std::string>{"great"});
  EXPECT_FALSE(assembly.evaluation.count_end);
}

TEST(Assembly, TrainsFromTheFirstStepToTheLast) {
  const Experiment experiment = small_experiment();
  Assembly assembly = assemble(experiment, 1);
  Trainer trainer = assembly.new_trainer();
  EXPECT_EQ(trainer.step().step, 1U);
  while (!trainer.done()) trainer.step();
  EXPECT_GT(assembly.evaluate().perplexity, 1.0);
}

TEST(Assembly, RefusesWhatDoesNotFit) {
  Experiment experiment = small_experiment();
  experiment.model.heads = experiment.model.width + 1;
  EXPECT_THAT([&] { assemble(experiment); }, testing::ThrowsMessage<Error>(testing::HasSubstr("model.heads")));
}

TEST(MemoryNeed, CountsTheModelAndTheData) {
  const double small = memory_need(small_experiment());
  Experiment wide = small_experiment();
  wide.model.width = 1024;
  wide.model.feed_forward = 4096;
  EXPECT_GT(memory_need(wide), small + 8.0 * 4.0 * 12.0 * 1024.0 * 1024.0);
  // What a sentence takes: its words as text, a feature row a token, labels of the knobs.
  Experiment experiment = preset_experiment("semfuse");
  const double before = memory_need(experiment);
  constexpr double kMore = 10e6;
  experiment.corpus.train += static_cast<std::size_t>(kMore);
  const double sentence = (memory_need(experiment) - before) / kMore;
  EXPECT_NEAR(sentence, 2087.0, 250.0) << "as measured between 100,000 and 400,000 sentences";
}

}  // namespace
}  // namespace semfuse
