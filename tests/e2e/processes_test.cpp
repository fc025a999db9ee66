#include <tuple>

#include "e2e/process_runs.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Eight steps of about eight leaves; the preset has dropout, knobs and words without identity.
Arguments shared_training(const std::string& run, const Arguments& more = {}) {
  Arguments all = {"--set", "training.epochs=4", "--set", "training.grain=60", "--set", "features.learn_kernel=true"};
  all.insert(all.end(), {"--checkpoint-every", "3", "--quiet"});
  if (std::find(more.begin(), more.end(), "--threads") == more.end()) all.insert(all.end(), {"--threads", "1"});
  all.insert(all.end(), more.begin(), more.end());
  return tiny_training(run, all);
}

void expect_same_run(const std::string& run, const std::string& expected) {
  EXPECT_EQ(Process::text(run + "/model.safetensors"), Process::text(expected + "/model.safetensors"));
  EXPECT_EQ(Process::text(checkpoint_path(run, 8)), Process::text(checkpoint_path(expected, 8)));
  EXPECT_EQ(timeless_log_of(run), timeless_log_of(expected));
}

TEST(ProcessesCommand, OneTwoAndFourWriteTheSameBytes) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string alone = folder / "alone";
  ASSERT_EQ(semfuse_program(shared_training(alone)).exit_code, 0);
  for (const std::size_t processes : {1, 2, 4}) {
    const std::string run = folder / ("run" + std::to_string(processes));
    const Arguments arguments = shared_training(run, {"--threads", processes == 2 ? "2" : "1"});
    const ProcessResult result = run_process(in_processes(processes, arguments));
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "");
    expect_same_run(run, alone);
  }
}

TEST(ProcessesCommand, GoesOnWithAnotherNumberOfThem) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string run = folder / "run", whole = folder / "whole";
  ASSERT_EQ(run_process(in_processes(2, shared_training(run))).exit_code, 0);
  std::filesystem::copy(run, whole, std::filesystem::copy_options::recursive);
  rewind_run(run, 6);
  const ProcessResult result = run_process(in_processes(3, {"train", "--resume", run, "--threads", "1"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("goes on from step 6 of 8"), HasSubstr("3 processes with 1 thread each"),
                                HasSubstr("% of the time waiting for others")));
  expect_same_run(run, whole);
  const ProcessResult again = run_process(in_processes(2, {"train", "--resume", run}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("there is nothing to resume"));
}

TEST(ProcessesCommand, ASignalAtAnyOfThemStopsAllAtTheSameStep) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  Process process(in_processes(2, shared_training(run, {"--set", "training.epochs=100000"})));
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(checkpoint_path(run, 3)); }));
  ASSERT_GT(process_of_rank(run, 1), 0);
  ::kill(process_of_rank(run, 1), SIGUSR1);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 128 + SIGTERM) << result.err;
  ASSERT_EQ(own_lines(result.err).size(), 1u) << result.err;
  EXPECT_THAT(own_lines(result.err)[0],
              AllOf(HasSubstr("stopped at step"), HasSubstr("go on with `semfuse train --resume " + run)));
  const std::uint64_t newest = CheckpointStore(run + "/checkpoints").list().front().step;
  EXPECT_THAT(own_lines(result.err)[0], HasSubstr("stopped at step " + std::to_string(newest) + " of"));
}

TEST(ProcessesCommand, OneThatDiesEndsTheOthersWithOneLine) {
  SKIP_WITHOUT_MPI();
  for (const int rank : {1, 0}) {
    const TemporaryFolder folder;
    const std::string run = folder / "run";
    Process process(in_processes(2, shared_training(run, {"--set", "training.epochs=100000"})));
    ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(checkpoint_path(run, 3)); }));
    ::kill(process_of_rank(run, rank), SIGKILL);
    const ProcessResult result = process.result(std::chrono::seconds(30));
    EXPECT_GT(result.exit_code, 0) << "it does not end, or ends well";
    ASSERT_EQ(own_lines(result.err).size(), 1u) << result.err;
    EXPECT_THAT(own_lines(result.err)[0],
                AllOf(HasSubstr("rank " + std::to_string(rank) + " on "), HasSubstr("has ended"),
                      HasSubstr("go on with `semfuse train --resume " + run)));
    EXPECT_TRUE(wait_until([&] { return process_of_rank(run, 1 - rank) == 0; }));
  }
}

double megabytes_of(pid_t process) {
  std::istringstream text(Process::text("/proc/" + std::to_string(process) + "/statm"));
  double pages = 0.0, resident = 0.0;
  text >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

TEST(ProcessesCommand, ADeathIsSaidWhateverTheOthersDo) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  // The first makes sentences for many seconds, and the second waits for it.
  Process process(in_processes(2, shared_training(run, {"--set", "corpus.train=10000000"})));
  ASSERT_TRUE(wait_until([&] { return megabytes_of(process_of_rank(run, 0)) > 150.0; }));
  ::kill(process_of_rank(run, 1), SIGKILL);
  const ProcessResult result = process.result(std::chrono::seconds(30));
  EXPECT_GT(result.exit_code, 2) << result.err;
  EXPECT_THAT(own_lines(result.err), ElementsAre(AllOf(HasSubstr("rank 1 on "), HasSubstr("has ended"),
                                                       HasSubstr("give the same command again"))));
}

#define SKIP_WITHOUT_ROOT()                                                       \
  if (run_process({"/usr/bin/unshare", "-u", "hostname", "west"}).exit_code != 0) \
  GTEST_SKIP() << "only root may give a process another name of the machine"

// As if these arguments were for a process on the machine `west`.
Arguments on_west(const Arguments& arguments) {
  Arguments command = {"/usr/bin/unshare",        "-u", "sh", "-c", "hostname west; exec \"$@\"", "-",
                       SEMFUSE_BIN_DIR "/semfuse"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

TEST(ProcessesCommand, OneThatDiesOnAnotherMachineIsTold) {
  SKIP_WITHOUT_MPI();
  SKIP_WITHOUT_ROOT();
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const Arguments training = shared_training(run, {"--set", "training.epochs=100000"});
  Arguments command = in_processes(1, training);
  command.insert(command.end(), {":", "-n", "1"});
  for (const std::string& word : on_west(training)) command.push_back(word);
  Process process(command);
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(checkpoint_path(run, 3)); }));
  ::kill(process_of_rank(run, 1), SIGKILL);
  const ProcessResult result = process.result(std::chrono::seconds(30));
  EXPECT_GT(result.exit_code, 2) << result.err;
  EXPECT_THAT(own_lines(result.err), ElementsAre(AllOf(HasSubstr("rank 1 on west"), HasSubstr("died"),
                                                       HasSubstr("go on with `semfuse train --resume " + run))))
      << result.err;
}

// Here while the first is busy, and on another machine while it waits; both at once, for they take their time.
TEST(ProcessesCommand, OneThatFailsIsHeardOnce) {
  SKIP_WITHOUT_MPI();
  SKIP_WITHOUT_ROOT();
  const TemporaryFolder folder;
  const Arguments refused = shared_training(folder / "run", {"--set", "training.batch=0"});
  Arguments here = in_processes(1, shared_training(folder / "run", {"--set", "corpus.train=10000000"}));
  here.insert(here.end(), {":", "-n", "1", SEMFUSE_BIN_DIR "/semfuse"});
  here.insert(here.end(), refused.begin(), refused.end());
  Arguments there = in_processes(1, shared_training(folder / "run"));
  there.insert(there.end(), {":", "-n", "1"});
  for (const std::string& word : on_west(refused)) there.push_back(word);
  Process processes[] = {Process(here), Process(there)};
  for (Process& process : processes) {
    const ProcessResult result = process.result();
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(own_lines(result.err), ElementsAre(AllOf(HasSubstr("rank 1 on "), HasSubstr("training.batch"))));
  }
}

TEST(ProcessesCommand, AnAblationInTwoWritesTheSameFiles) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const auto ablation = [&](const std::string& name) {
    Arguments arguments =
        tiny_training(folder / name, {"--only", "semfuse", "--only", "without_gate", "--seeds", "1", "--quiet"});
    arguments[0] = "ablate";
    return arguments;
  };
  ASSERT_EQ(semfuse_program(ablation("one")).exit_code, 0);
  const ProcessResult result = run_process(in_processes(2, ablation("two")));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(tree_of(folder / "one"), tree_of(folder / "two"));
}

TEST(ProcessesCommand, OnlyTheFirstSpeaksAlsoIfItIsTheLast) {
  SKIP_WITHOUT_MPI();
  Arguments command = in_processes(1, {"train", "--no-such-option"});
  command.erase(command.begin() + 3, command.end());
  command.insert(command.end(),
                 {"/bin/sh", "-c", "sleep 0.5; exec " SEMFUSE_BIN_DIR "/semfuse train --no-such-option"});
  command.insert(command.end(), {":", "-n", "1", SEMFUSE_BIN_DIR "/semfuse", "train", "--no-such-option"});
  const ProcessResult refused = run_process(command);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(own_lines(refused.err), ElementsAre(HasSubstr("--no-such-option")));
  const ProcessResult version = run_process(in_processes(2, {"--version"}));
  EXPECT_EQ(std::count(version.out.begin(), version.out.end(), '\n'), 1) << version.out;
}

TEST(ProcessesCommand, WhatAllRefuseIsSaidOnce) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  for (const Arguments& more : {Arguments{"--set", "training.batch=0"}, Arguments{"--config", folder / "none.toml"},
                                Arguments{"--instruction-set", "abacus"}}) {
    const ProcessResult result = run_process(in_processes(2, shared_training(folder / "run", more)));
    EXPECT_GT(result.exit_code, 0);
    EXPECT_EQ(own_lines(result.err).size(), 1u) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  }
}

// The least of those that this processor has, as a refusal lists them.
std::string least_instruction_set() {
  const std::string list = semfuse_program(tiny_training("unused", {"--instruction-set", "abacus"})).err;
  const std::size_t begin = list.rfind(' ') + 1;
  return list.substr(begin, list.size() - 1 - begin);
}

TEST(ProcessesCommand, RefusesOneThatIsNotLikeTheFirst) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string program = SEMFUSE_BIN_DIR "/semfuse", other_build = folder / "semfuse";
  std::filesystem::copy(program, other_build);
  std::ofstream(other_build, std::ios::app) << "other";
  const std::vector<std::tuple<std::string, Arguments, std::string>> cases = {
      {program, {"--seed", "7"}, "has another configuration"},
      {program, {"--instruction-set", least_instruction_set()}, "has another instruction set"},
      {other_build, {}, "has another program"}};
  for (const auto& [started, other, what] : cases) {
    Arguments command = in_processes(1, shared_training(folder / "run"));
    command.insert(command.end(), {":", "-n", "1", started});
    for (const std::string& word : shared_training(folder / "run", other)) command.push_back(word);
    const ProcessResult result = run_process(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(own_lines(result.err), ElementsAre(AllOf(HasSubstr("rank 1 on "), HasSubstr(what)))) << result.err;
  }
}

std::string slurm_script_of_docs() {
  const std::string page = Process::text(SEMFUSE_SOURCE_DIR "/docs/clusters.md");
  std::istringstream lines(page.substr(std::min(page.size(), page.find("    #!/bin/bash\n"))));
  std::string script;
  for (std::string line; std::getline(lines, line) && line.starts_with("    ");) script += line.substr(4) + '\n';
  return script;
}

void write_program(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST(ProcessesCommand, TheSlurmScriptOfTheDocsGoesOnUntilItIsDone) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  write_program(folder / "job", slurm_script_of_docs());
  std::ofstream reviews(folder / "reviews.tsv");
  reviews << "text\n";
  for (int i = 0; i < 200; ++i) reviews << "film " << i << " is " << (i % 3 == 0 ? "good" : "bad") << '\n';
  reviews.close();
  // A scheduler of two processes, which warns them when there is a checkpoint, but not when they go on from one.
  in_processes(2, {});  // For the environment.
  write_program(folder / "scontrol", "#!/bin/sh\necho \"$@\" >>" + folder / "requeued" + "\n");
  write_program(folder / "srun",
                std::string("#!/bin/sh\nwhile [ \"${1#--}\" != \"$1\" ]; do shift; done\nshift\n") + "start=\"" +
                    kMpirun + " -n 2 " SEMFUSE_BIN_DIR "/semfuse\"\n" +
                    "case \"$*\" in *--resume*) exec $start \"$@\" ;; esac\n" +
                    "$start \"$@\" --checkpoint-every 1 --set model.width=16 --set training.epochs=10 &\n" +
                    "until ! kill -0 $! || ls " + run + "/checkpoints/step-*; do sleep 0.05; done >/dev/null 2>&1\n" +
                    "kill -USR1 $!\nwait $!\n");
  const std::string job = "cd " + folder / "" + " && PATH=" + folder / "" + ":$PATH SLURM_SUBMIT_DIR=" + folder / "" +
                          " SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=1 bash ./job";
  const ProcessResult first = run_process({"/bin/sh", "-c", job});
  EXPECT_THAT(own_lines(first.err), Contains(HasSubstr("stopped at step"))) << first.err;
  EXPECT_EQ(Process::text(folder / "requeued"), "requeue 7\n") << first.err;
  const ProcessResult second = run_process({"/bin/sh", "-c", job});
  EXPECT_EQ(Process::text(folder / "requeued"), "requeue 7\n") << second.err;
  EXPECT_EQ(log_of(run).back()["event"], "finished") << second.err;
}

TEST(ProcessesCommand, SaysIfThereIsNoMpiForThem) {
  const TemporaryFolder folder;
  ::setenv("PMI_SIZE", "2", 1);
  const ProcessResult result = semfuse_program(shared_training(folder / "run"));
  ::unsetenv("PMI_SIZE");
  EXPECT_EQ(result.exit_code, 2);
  ASSERT_EQ(own_lines(result.err).size(), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 processes were started, but"));
  EXPECT_THAT(result.err, HasSubstr(has_mpi() ? "MPI sees one" : "this build of semfuse has no MPI"));
}

}  // namespace
}  // namespace semfuse
