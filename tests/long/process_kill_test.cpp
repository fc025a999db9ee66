// A random process of a training is killed at a random moment, 50 times, and the run goes on with a random number of
// them.
#include <cstdio>
#include <random>

#include "e2e/kill_runs.h"
#include "e2e/process_runs.h"

namespace semfuse {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kKills = 50;
constexpr int kSteps = 40;

// Most of its time goes into its 20 checkpoints and 10 models, each of which waits for the disk.
Arguments process_training(const std::string& run) {
  return tiny_training(run, {"--set", "training.epochs=10", "--set", "corpus.train=128", "--set", "training.grain=60",
                             "--checkpoint-every", "2", "--threads", "1", "--quiet"});
}

bool is_saving(const std::string& run) {
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(run + "/checkpoints", ignored)) {
    if (file.path().string().find(".tmp-") != std::string::npos) return true;
  }
  return false;
}

// A run that is killed between the last line of its log and its last checkpoint is finished, and has the one before.
void expect_same_end(const std::string& run, const std::string& expected) {
  EXPECT_TRUE(Process::text(run + "/model.safetensors") == Process::text(expected + "/model.safetensors"));
  const std::vector<CheckpointStore::Entry> checkpoints = CheckpointStore(run + "/checkpoints").list();
  ASSERT_FALSE(checkpoints.empty());
  const auto step = static_cast<int>(checkpoints.front().step);
  EXPECT_GE(step, kSteps - 2);
  EXPECT_TRUE(Process::text(checkpoint_path(run, step)) == Process::text(checkpoint_path(expected, step))) << step;
  EXPECT_EQ(timeless_log_of(run), timeless_log_of(expected));
}

TEST(ProcessKill, SurvivesFiftyKillsOfARandomRank) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string expected = folder / "expected", run = folder / "run";
  ASSERT_EQ(semfuse_program(process_training(expected)).exit_code, 0);
  for (const int step : {kSteps - 2, kSteps}) ASSERT_TRUE(std::filesystem::exists(checkpoint_path(expected, step)));
  const auto begin = Clock::now();
  ASSERT_EQ(run_process(in_processes(2, process_training(folder / "timed"))).exit_code, 0);
  const auto whole = std::chrono::duration_cast<microseconds>(Clock::now() - begin);

  std::mt19937 random(11);
  std::uint64_t newest = 0;
  int runs_done = 0, killed_early = 0, killed_saving = 0, told = 0;
  for (int killed = 0; killed < kKills;) {
    const std::size_t processes = 1 + random() % 4;
    const bool resumes = std::filesystem::exists(run + "/config.toml");
    const Arguments arguments =
        resumes ? Arguments{"train", "--resume", run, "--quiet", "--threads", std::to_string(1 + random() % 2)}
                : process_training(run);
    Process process(in_processes(processes, arguments));
    std::this_thread::sleep_for(microseconds(random() % whole.count()));
    const auto rank = static_cast<int>(random() % processes);
    const bool aims = random() % 4 == 0;  // At a checkpoint that is being written.
    pid_t victim = 0;
    while (process.running() && victim == 0) victim = process_of_rank(run, rank);
    while (aims && process.running() && !is_saving(run)) {
    }
    if (victim > 0) ::kill(victim, SIGKILL);
    const ProcessResult result = process.result(std::chrono::seconds(30));
    SCOPED_TRACE(result.err);
    if (result.exit_code == -1) {
      // Where a process dies while it connects to it, mpirun of OpenMPI 4.1 says so and then waits for itself for ever.
      ASSERT_THAT(result.err, HasSubstr("PMIX ERROR")) << "mpirun hangs after kill " << killed;
      for (std::size_t other = 0; other < processes; ++other) {
        ASSERT_EQ(process_of_rank(run, static_cast<int>(other)), 0) << "the others hang after kill " << killed;
      }
    }
    if (result.exit_code != 0) {
      ASSERT_GT(victim, 0);
      ++killed;
      killed_saving += is_saving(run) ? 1 : 0;
    }
    const CheckpointStore store(run + "/checkpoints");
    for (const CheckpointStore::Entry& entry : store.list()) {
      ASSERT_NO_THROW(load_training_checkpoint(entry.path)) << "a half file after kill " << killed;
    }
    const std::uint64_t step = store.list().empty() ? 0 : store.list().front().step;
    ASSERT_GE(step, newest) << "a checkpoint was lost by kill " << killed;
    const bool trained = newest < step && step < kSteps;  // Neither before the first step nor after the last.
    newest = step;
    if (result.exit_code != 0) {
      killed_early += newest == 0 ? 1 : 0;
      const std::vector<std::string> lines = own_lines(result.err);
      ASSERT_LE(lines.size(), 1u);
      ASSERT_TRUE(!trained || processes == 1 || lines.size() == 1) << "nobody tells of kill " << killed;
      if (lines.empty()) continue;
      ++told;
      const bool begun = std::filesystem::exists(run + "/config.toml");
      ASSERT_THAT(lines[0], AllOf(HasSubstr("rank " + std::to_string(rank) + " on "), HasSubstr("has ended"),
                                  HasSubstr(begun ? "go on with `semfuse train --resume " + run
                                                  : "give the same command again")));
      continue;
    }
    expect_same_end(run, expected);
    ASSERT_FALSE(HasFailure());
    std::filesystem::remove_all(run);
    newest = 0;
    ++runs_done;
  }
  if (std::filesystem::exists(run)) {
    ASSERT_EQ(run_process(in_processes(3, {"train", "--resume", run, "--quiet"})).exit_code, 0);
    expect_same_end(run, expected);
    EXPECT_FALSE(is_saving(run));
    ++runs_done;
  }
  EXPECT_GT(runs_done, 0);
  EXPECT_GT(told, 0);
  EXPECT_GT(killed_early, 0) << "no kill came before the first checkpoint";
  EXPECT_GT(killed_saving, 0) << "no kill came while a checkpoint was written";
  std::printf(
      "%d kills before the first checkpoint, %d while one was written, %d told of by another process; %d runs\n",
      killed_early, killed_saving, told, runs_done);
}

}  // namespace
}  // namespace semfuse
