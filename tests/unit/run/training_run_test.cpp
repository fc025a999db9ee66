#include "semfuse/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "io/file.h"
#include "run/run_files.h"
#include "semfuse/checkpoint.h"
#include "semfuse/error.h"
#include "support/small_training.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Nine steps in three epochs.
Experiment short_experiment() {
  Experiment experiment = small_experiment();
  experiment.corpus.val = 10;
  return experiment;
}

TEST(TrainingRun, TellsWhatHappens) {
  const TemporaryFolder folder;
  TrainingRun run(short_experiment(), folder / "run", {.threads = 1});
  EXPECT_FALSE(fs::exists(folder / "run"));
  std::string story;
  const RunOutcome outcome = run.run([&](const RunEvent& event) {
    story += "s.ew"[event.index()];
    if (const auto* evaluation = std::get_if<RunEvaluation>(&event)) {
      EXPECT_TRUE(evaluation->report.ends_epoch);
      EXPECT_EQ(load_checkpoint(folder / "run").experiment().seed, 17U);
    }
    return true;
  });
  EXPECT_EQ(story, "s...e...e...e");
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.steps, run.total_steps());
  EXPECT_EQ(outcome.evaluations.size(), 3U);
  EXPECT_EQ(outcome.evaluations.back().step, 9U);
  EXPECT_EQ(outcome.model, run.model_path().string() + " holds the model after epoch 3");
  EXPECT_EQ(values_of(load_checkpoint(folder / "run").model), values_of(run.model()));
}

TEST(TrainingRun, StepsEndItAmidAnEpochWithAModel) {
  const TemporaryFolder folder;
  Experiment experiment = short_experiment();
  experiment.training.steps = 5;
  TrainingRun run(experiment, folder / "run", {.threads = 1});
  std::size_t epochs = 0;
  const RunOutcome outcome = run.run([&](const RunEvent& event) {
    if (const auto* started = std::get_if<RunStarted>(&event)) epochs = started->total_epochs;
    return true;
  });
  EXPECT_EQ(epochs, 2U);
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.evaluations.back().step, 5U);
  EXPECT_EQ(values_of(load_checkpoint(folder / "run").model), values_of(run.model()));
}

TEST(TrainingRun, StoppedAndResumedItIsTheSame) {
  const TemporaryFolder folder;
  TrainingRun(short_experiment(), folder / "whole").run();
  std::uint64_t wanted = 4;
  const auto stop = [&](const RunEvent& event) {
    const auto* step = std::get_if<RunStep>(&event);
    return step == nullptr || step->report.step != wanted;
  };
  const RunOutcome stopped = TrainingRun(short_experiment(), folder / "run").run(stop);
  EXPECT_FALSE(stopped.finished);
  EXPECT_EQ(stopped.steps, 4U);
  EXPECT_EQ(stopped.saved_step, 4U);
  EXPECT_EQ(stopped.not_saved, "");
  wanted = 6;  // The last of an epoch.
  TrainingRun second = TrainingRun::resume(folder / "run");
  EXPECT_FALSE(second.finished());
  EXPECT_EQ(second.run(stop).first_step, 4U);
  const RunOutcome outcome = TrainingRun::resume(folder / "run").run();
  EXPECT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.evaluations.size(), 3U);
  EXPECT_EQ(read_text(RunFiles{folder / "run"}.model()), read_text(RunFiles{folder / "whole"}.model()));
  EXPECT_TRUE(TrainingRun::resume(folder / "run").finished());
}

TEST(TrainingRun, ThrowsWhatTheCallbackThrowsAndKeepsTheRun) {
  const TemporaryFolder folder;
  EXPECT_THAT(
      [&] {
        TrainingRun(short_experiment(), folder / "run").run([](const RunEvent& event) -> bool {
          if (std::holds_alternative<RunEvaluation>(event)) throw Error("enough");
          return true;
        });
      },
      ThrowsMessage<Error>(HasSubstr("enough; ")));
  EXPECT_TRUE(TrainingRun::resume(folder / "run").run().finished);
}

TEST(TrainingRun, TakesAnEmptyFolderAndRefusesAnyOther) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "empty");
  fs::permissions(folder / "empty", fs::perms::owner_all);
  EXPECT_TRUE(TrainingRun(short_experiment(), folder / "empty/").run().finished);
  EXPECT_EQ(fs::status(folder / "empty").permissions(), fs::perms::owner_all);
  EXPECT_THAT([&] { TrainingRun(short_experiment(), folder / "empty"); },
              ThrowsMessage<Error>(HasSubstr("is already there")));
  EXPECT_THAT([&] { TrainingRun::resume(folder / "none"); }, ThrowsMessage<Error>(HasSubstr("is no run to resume")));
}

TEST(TrainingRun, KeepsACopyOfItsLexicon) {
  const TemporaryFolder folder;
  std::string text = read_text(fs::path(SEMFUSE_SOURCE_DIR) / "lexicons/synthetic.tsv");
  fs::create_directory(folder / "mine");
  const fs::path file = folder / "mine/words.tsv";
  std::ofstream(file) << text << "superb\tadjective\t1\n";
  Experiment experiment = short_experiment();
  experiment.lexicon = file.string();
  std::vector<std::string> warnings;
  TrainingRun(experiment, folder / "run").run([&](const RunEvent& event) {
    if (const auto* warning = std::get_if<RunWarning>(&event)) warnings.push_back(warning->text);
    return true;
  });
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], HasSubstr("words are not in the corpus, so the model does not learn them: "));
  EXPECT_THAT(warnings[0], HasSubstr("\"superb\""));
  fs::remove_all(folder / "mine");
  const RunFiles run{folder / "run"};
  EXPECT_THAT(read_text(run.config()), HasSubstr("lexicon = \"lexicon.tsv\""));
  EXPECT_TRUE(TrainingRun::resume(run.folder).finished());
  TrainingRun(load_experiment(run.config()), folder / "again").run();
  EXPECT_EQ(read_text(RunFiles{folder / "again"}.model()), read_text(run.model()));
}

TEST(TrainingRun, SaysWhichWordsTheLexiconLacks) {
  const TemporaryFolder folder;
  std::ofstream(folder / "few.tsv") << "word\tclass\tpolarity\ngood\tadjective\t0.5\nbad\tadjective\t-0.5\n";
  Experiment experiment = short_experiment();
  experiment.lexicon = folder / "few.tsv";
  std::vector<std::string> warnings;
  TrainingRun(experiment, folder / "run").run([&](const RunEvent& event) {
    if (const auto* warning = std::get_if<RunWarning>(&event)) warnings.push_back(warning->text);
    return true;
  });
  ASSERT_FALSE(warnings.empty());
  EXPECT_THAT(warnings[0], HasSubstr("few.tsv: lacks 3"));
  EXPECT_THAT(warnings[0], HasSubstr("which the model reads as class other: "));
}

}  // namespace
}  // namespace semfuse
