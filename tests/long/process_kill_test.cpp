// A random process of a training is killed at a random moment, 50 times, and the run goes on with a random number of
// them.
#include <random>

#include "e2e/kill_runs.h"
#include "e2e/process_runs.h"

namespace semfuse {
namespace {

TEST(ProcessKill, SurvivesFiftyKillsOfARandomRank) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string expected = folder / "expected", run = folder / "run";
  const auto training = [&](const std::string& out) {
    return tiny_training(out, {"--set", "training.epochs=60", "--set", "corpus.train=128", "--set", "training.grain=60",
                               "--checkpoint-every", "2", "--threads", "1", "--quiet"});
  };
  ASSERT_EQ(semfuse_program(training(expected)).exit_code, 0);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run_process(in_processes(2, training(folder / "timed"))).exit_code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);

  std::mt19937 random(11);
  std::uint64_t newest = 0;
  int runs_done = 0;
  for (int killed = 0; killed < 50;) {
    const std::size_t processes = 1 + random() % 4;
    const Arguments arguments =
        std::filesystem::exists(run + "/config.toml")
            ? Arguments{"train", "--resume", run, "--quiet", "--threads", std::to_string(1 + random() % 2)}
            : training(run);
    Process process(in_processes(processes, arguments));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % whole.count()));
    const pid_t victim = process_of_rank(run, static_cast<int>(random() % processes));
    if (victim > 0) ::kill(victim, SIGKILL);
    const ProcessResult result = process.result(std::chrono::seconds(60));
    ASSERT_NE(result.exit_code, -1) << "the others hang after kill " << killed;
    if (result.exit_code != 0) ++killed;
    const CheckpointStore store(run + "/checkpoints");
    for (const CheckpointStore::Entry& entry : store.list()) {
      ASSERT_NO_THROW(load_training_checkpoint(entry.path)) << "a half file after kill " << killed;
    }
    const std::uint64_t step = store.list().empty() ? 0 : store.list().front().step;
    ASSERT_GE(step, newest) << "a checkpoint was lost by kill " << killed;
    newest = step;
    if (result.exit_code != 0) continue;
    ASSERT_EQ(Process::text(run + "/model.safetensors"), Process::text(expected + "/model.safetensors"));
    ASSERT_EQ(timeless_log_of(run), timeless_log_of(expected));
    std::filesystem::remove_all(run);
    newest = 0;
    ++runs_done;
  }
  if (std::filesystem::exists(run)) {
    ASSERT_EQ(run_process(in_processes(3, {"train", "--resume", run, "--quiet"})).exit_code, 0);
    EXPECT_EQ(Process::text(run + "/model.safetensors"), Process::text(expected + "/model.safetensors"));
    EXPECT_EQ(timeless_log_of(run), timeless_log_of(expected));
    ++runs_done;
  }
  EXPECT_GT(runs_done, 0);
}

}  // namespace
}  // namespace semfuse
