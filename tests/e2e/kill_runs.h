// Kills a training run at random moments and goes on with it, until it is done.
#pragma once

#include <sys/wait.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "run/checkpoint_store.h"

namespace semfuse {

// A run of some tenths of a second with a checkpoint every other step.
inline Arguments killable_training(const std::string& run) {
  return tiny_training(
      run, {"--set", "training.epochs=15", "--set", "corpus.train=128", "--checkpoint-every", "2", "--quiet"});
}

// Kills `kills` processes, each at a random moment between its start and `longest` later; where a process was done
// before, the run begins anew. Checks after each kill that what is there is whole, that nothing older was lost, and at
// the end of each run that it is the same as `expected`, one that was never killed.
inline void expect_to_survive(int kills, std::chrono::microseconds longest, const std::string& expected) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  std::mt19937 random(5);
  std::uint64_t newest = 0;
  std::set<std::uint64_t> seen;
  int runs_done = 0;
  for (int killed = 0; killed < kills;) {
    const bool resumes = std::filesystem::exists(run);
    const Arguments arguments =
        resumes ? Arguments{"train", "--resume", run, "--quiet", "--threads", std::to_string(1 + random() % 3)}
                : killable_training(run);
    Process process(command_of("semfuse", arguments));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest.count()));
    process.signal(SIGKILL);
    const ProcessResult result = process.result();
    ASSERT_EQ(result.err, "") << "after kill " << killed;
    if (result.exit_code == 128 + SIGKILL) ++killed;

    const CheckpointStore store(run + "/checkpoints");
    for (const CheckpointStore::Entry& entry : store.list()) {
      ASSERT_NO_THROW(load_training_checkpoint(entry.path)) << "a half file after kill " << killed;
      seen.insert(entry.step);
    }
    const std::uint64_t step = store.list().empty() ? 0 : store.list().front().step;
    ASSERT_GE(step, newest) << "a checkpoint was lost by kill " << killed;
    newest = step;
    if (result.exit_code == 0) {
      ASSERT_EQ(Process::text(run + "/model.safetensors"), Process::text(expected + "/model.safetensors"));
      ASSERT_EQ(timeless_log_of(run), timeless_log_of(expected));
      std::filesystem::remove_all(run);
      newest = 0;
      ++runs_done;
    }
  }
  // What is left goes on to the same end.
  if (std::filesystem::exists(run)) {
    ASSERT_EQ(semfuse_program({"train", "--resume", run, "--quiet"}).exit_code, 0);
    EXPECT_EQ(Process::text(run + "/model.safetensors"), Process::text(expected + "/model.safetensors"));
    EXPECT_EQ(timeless_log_of(run), timeless_log_of(expected));
    for (const auto& [name, bytes] : tree_of(run)) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
    ++runs_done;
  }
  EXPECT_GT(runs_done, 0);
  EXPECT_GT(seen.size(), 1U) << "no kill came after a checkpoint";
}

}  // namespace semfuse
