#include "e2e/process_runs.h"

namespace semfuse {
namespace {

using testing::AllOf;
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

TEST(ProcessesCommand, WhatAllRefuseIsSaidOnce) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder folder;
  for (const Arguments& more : {Arguments{"--set", "training.batch=0"}, Arguments{"--config", folder / "none.toml"},
                                Arguments{"--instruction-set", "abacus"}, Arguments{"--no-such-option"}}) {
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
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {{"--seed", "7"}, "has another configuration"},
      {{"--instruction-set", least_instruction_set()}, "has another instruction set"}};
  for (const auto& [other, what] : cases) {
    Arguments command = in_processes(1, shared_training(folder / "run"));
    command.insert(command.end(), {":", "-n", "1", SEMFUSE_BIN_DIR "/semfuse"});
    for (const std::string& word : shared_training(folder / "run", other)) command.push_back(word);
    const ProcessResult result = run_process(command);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_THAT(own_lines(result.err), ElementsAre(AllOf(HasSubstr("rank 1 on "), HasSubstr(what)))) << result.err;
  }
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
