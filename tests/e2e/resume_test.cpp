#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdio>

#include "e2e/kill_runs.h"
#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "run/checkpoint_store.h"
#include "run/verification.h"
#include "semfuse/checkpoint.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

// Eight steps in four epochs.
Arguments short_training(const std::string& run, const Arguments& more = {}) {
  Arguments all = {"--set", "training.epochs=4", "--checkpoint-every", "3"};
  all.insert(all.end(), more.begin(), more.end());
  return tiny_training(run, all);
}

ProcessResult resume(const std::string& run, const Arguments& more = {}) {
  Arguments arguments = {"train", "--resume", run};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return semfuse_program(arguments);
}

class ResumeCommand : public testing::Test {
 protected:
  ResumeCommand() : run_(folder_ / "run"), whole_(folder_ / "whole") {
    EXPECT_EQ(semfuse_program(short_training(run_)).exit_code, 0);
    fs::copy(run_, whole_, fs::copy_options::recursive);
  }
  void expect_the_whole_run() {
    EXPECT_EQ(Process::text(run_ + "/model.safetensors"), Process::text(whole_ + "/model.safetensors"));
    EXPECT_EQ(timeless_log_of(run_), timeless_log_of(whole_));
    EXPECT_EQ(Process::text(checkpoint_path(run_, 8)), Process::text(checkpoint_path(whole_, 8)));
  }

  const TemporaryFolder folder_;
  const std::string run_;
  const std::string whole_;
};

TEST_F(ResumeCommand, GoesOnFromTheNewestCheckpoint) {
  for (const char* step : {"3", "6"}) {
    rewind_run(run_, static_cast<std::uint64_t>(std::stoi(step)));
    if (step[0] == '3') fs::copy(checkpoint_path(whole_, 3), checkpoint_path(run_, 3), fs::copy_options::skip_existing);
    const ProcessResult result = resume(run_, {"--threads", step[0] == '3' ? "1" : "3"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, HasSubstr(std::string("goes on from step ") + step + " of 8"));
    EXPECT_THAT(result.out, HasSubstr("holds the model after epoch 4"));
    expect_the_whole_run();
  }
}

TEST_F(ResumeCommand, WithoutACheckpointItBeginsAgain) {
  rewind_run(run_, 0);
  fs::remove_all(run_ + "/checkpoints");
  const ProcessResult result = resume(run_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("begins again at step 0"));
  expect_the_whole_run();
}

// A limit on file sizes stands for a full disk: the log fits, a model and a checkpoint do not.
TEST_F(ResumeCommand, BeginningAgainKeepsTheModelThatIsThere) {
  rewind_run(run_, 0);
  fs::remove_all(run_ + "/checkpoints");
  const ProcessResult result = run_process(
      {"/bin/sh", "-c", "ulimit -f 20; exec " SEMFUSE_BIN_DIR "/semfuse train --resume " + run_ + " --quiet"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("model.safetensors: cannot write: File too large"));
  EXPECT_THAT(result.err, HasSubstr("training goes on and tries again after the next epoch"));
  EXPECT_THAT(result.err, testing::EndsWith("model.safetensors holds the model after epoch 4\n"));
  EXPECT_EQ(Process::text(run_ + "/model.safetensors"), Process::text(whole_ + "/model.safetensors"));
}

TEST_F(ResumeCommand, AFinishedRunIsLeftAlone) {
  const auto before = tree_of(run_);
  const auto time = fs::last_write_time(run_ + "/lock");
  const ProcessResult result = resume(run_);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("all 8 steps are done"));
  EXPECT_EQ(tree_of(run_), before);
  EXPECT_EQ(fs::last_write_time(run_ + "/lock"), time);
}

// As a full disk leaves it: the model is saved, a checkpoint, three times as large, is not.
TEST_F(ResumeCommand, AFinishedRunWithoutCheckpointsIsLeftAlone) {
  fs::remove_all(run_ + "/checkpoints");
  const auto before = tree_of(run_);
  EXPECT_THAT(resume(run_).out, HasSubstr("all 8 steps are done"));
  EXPECT_EQ(tree_of(run_), before);
  // Unless the model is gone.
  damage(run_ + "/model.safetensors");
  EXPECT_THAT(resume(run_).out, HasSubstr("begins again at step 0"));
  expect_the_whole_run();
}

TEST_F(ResumeCommand, AnotherInstructionSetIsSaid) {
  rewind_run(run_, 6);
  std::string log = Process::text(run_ + "/log.jsonl");
  const std::string key = "\"instruction_set\":\"";
  ASSERT_NE(log.find(key), log.npos);
  log.insert(log.find(key) + key.size(), "OTHER_");
  std::ofstream(run_ + "/log.jsonl") << log;
  const ProcessResult result = resume(run_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_one_error_line(result, "log.jsonl: the steps before ran with OTHER_");
  const std::vector<nlohmann::json> events = log_of(run_);
  EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const auto& e) { return e["event"] == "start"; }), 2);
  EXPECT_EQ(steps_and_evaluations_of(run_).size(), steps_and_evaluations_of(whole_).size());
}

TEST_F(ResumeCommand, ADamagedCheckpointIsNamedAndTheOneBeforeIsUsed) {
  rewind_run(run_, 6);
  damage(checkpoint_path(run_, 6));
  const ProcessResult result = resume(run_);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_one_error_line(result, "step-00000006.safetensors: its checksum is ");
  EXPECT_THAT(result.out, HasSubstr("goes on from step 3 of 8"));
  expect_the_whole_run();
  EXPECT_TRUE(fs::exists(checkpoint_path(run_, 6) + ".damaged"));
}

TEST_F(ResumeCommand, TheLogReadsAsOneRun) {
  rewind_run(run_, 3);
  // Steps of a time after the checkpoint, and half a line.
  std::ofstream(run_ + "/log.jsonl", std::ios::app) << "{\"event\":\"step\",\"step\":9,";
  ASSERT_EQ(resume(run_).exit_code, 0);
  std::uint64_t steps = 0;
  for (const nlohmann::json& event : log_of(run_)) {
    if (event["event"] != "step") continue;
    EXPECT_EQ(event["step"], ++steps);
  }
  EXPECT_EQ(steps, 8U);
  expect_the_whole_run();

  rewind_run(run_, 6);
  fs::remove(run_ + "/log.jsonl");
  const ProcessResult lost = resume(run_);
  EXPECT_EQ(lost.exit_code, 0);
  expect_one_error_line(lost, "has 0 of the 6 steps before");
}

TEST_F(ResumeCommand, JsonTellsOfTheWholeRun) {
  const ProcessResult before = semfuse_program(short_training(folder_ / "other", {"--json"}));
  rewind_run(run_, 6);
  const ProcessResult after = resume(run_, {"--json"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  const nlohmann::json expected = nlohmann::json::parse(before.out), found = nlohmann::json::parse(after.out);
  EXPECT_EQ(found["first_step"], 6);
  for (const char* key : {"steps", "tokens", "evaluations", "seed", "skipped"}) EXPECT_EQ(found[key], expected[key]);
}

TEST_F(ResumeCommand, AnotherConfigurationIsRefusedByName) {
  rewind_run(run_, 6);
  std::string text = Process::text(run_ + "/config.toml");
  text.replace(text.find("dropout = 0.1"), 13, "dropout = 0.2");
  std::ofstream(run_ + "/config.toml") << text;
  const auto before = tree_of(run_);
  expect_refused({"train", "--resume", run_}, "model.dropout is 0.1 there, 0.2 here");
  auto after = tree_of(run_);
  EXPECT_EQ(after, before);
}

TEST_F(ResumeCommand, SettingsOfTheRunAreKept) {
  const std::string run = folder_ / "often";
  ASSERT_EQ(semfuse_program(short_training(run, {"--keep", "5"})).exit_code, 0);
  EXPECT_EQ(CheckpointStore(run + "/checkpoints").list().size(), 3U);
  rewind_run(run, 6);
  ASSERT_EQ(resume(run, {"--checkpoint-every", "1"}).exit_code, 0);
  EXPECT_EQ(CheckpointStore(run + "/checkpoints").list().size(), 4U);
  const CheckpointSettings settings = CheckpointStore(run + "/checkpoints").load_settings();
  EXPECT_EQ(settings.every, 1U);
  EXPECT_EQ(settings.keep, 5U);
  rewind_run(run, 7);
  ASSERT_EQ(resume(run, {"--keep", "1"}).exit_code, 0);
  EXPECT_EQ(CheckpointStore(run + "/checkpoints").list().size(), 1U);
}

TEST_F(ResumeCommand, ThatNothingIsToBeCalibratedIsKept) {
  const std::string run = folder_ / "raw";
  ASSERT_EQ(semfuse_program(short_training(run, {"--no-calibrate"})).exit_code, 0);
  EXPECT_FALSE(CheckpointStore(run + "/checkpoints").load_settings().calibrate);
  EXPECT_TRUE(CheckpointStore(run_ + "/checkpoints").load_settings().calibrate);
}

TEST_F(ResumeCommand, Refusals) {
  expect_refused({"train", "--resume", folder_ / "absent"}, "absent: is no run to resume");
  expect_refused({"train", "--resume", run_ + "/config.toml"}, "is no run to resume");
  expect_refused({"train", "--resume", ""}, "--resume is empty");
  expect_refused({"train", "--resume", run_, "--out", folder_ / "x"}, "--resume");
  expect_refused({"train", "--resume", run_, "--seed", "1"}, "--resume");
  expect_refused({"train", "--resume", run_, "--set", "model.width=8"}, "--resume");
  expect_refused(short_training(folder_ / "x", {"--keep", "0"}), "--keep is \"0\"");
  expect_refused(tiny_training(folder_ / "x", {"--checkpoint-every", "0"}), "--checkpoint-every is \"0\"");
  expect_refused(tiny_training(folder_ / "x", {"--checkpoint-every", "many"}), "--checkpoint-every");
  EXPECT_FALSE(fs::exists(folder_ / "x"));
}

TEST_F(ResumeCommand, AStaleLockIsNoHindrance) {
  rewind_run(run_, 6);
  std::ofstream(run_ + "/lock") << ::getppid() << '\n';
  EXPECT_EQ(resume(run_).exit_code, 0);
  expect_the_whole_run();
}

Arguments endless_training(const std::string& run, const Arguments& more = {}) {
  Arguments all = {"--set", "training.epochs=1000000", "--quiet"};
  all.insert(all.end(), more.begin(), more.end());
  return tiny_training(run, all);
}

TEST(RunningTraining, ASecondOneOnTheSameRunIsRefused) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  Process process(command_of("semfuse", endless_training(run)));
  ASSERT_TRUE(wait_until([&] { return !Process::text(run + "/log.jsonl").empty(); }));
  const std::string holder = Process::text(run + "/lock");
  expect_refused({"train", "--resume", run}, run + ": process " + holder.substr(0, holder.size() - 1) + " is training");
  process.signal(SIGKILL);
  process.result();
  EXPECT_EQ(Process::text(run + "/lock"), holder);
  Process again(command_of("semfuse", {"train", "--resume", run, "--quiet"}));
  ASSERT_TRUE(wait_until([&] { return Process::text(run + "/lock") != holder; }));
  again.signal(SIGINT);
  EXPECT_EQ(again.result().exit_code, 130);
}

TEST(RunningTraining, ASignalSavesAndSaysHowToGoOn) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const std::string run = folder / "my run";
    Process process(command_of("semfuse", endless_training(run, {"--checkpoint-every", "100000000"})));
    ASSERT_TRUE(wait_until([&] { return !Process::text(run + "/log.jsonl").empty(); }));
    const auto before = process.processor_time();
    process.signal(number);
    const ProcessResult result = process.result();
    EXPECT_LT(process.processor_time() - before, std::chrono::seconds(2));
    EXPECT_EQ(result.exit_code, 128 + number);
    expect_one_error_line(result, "; go on with `semfuse train --resume '" + run + "'`");
    const std::vector<CheckpointStore::Entry> saved = CheckpointStore(run + "/checkpoints").list();
    ASSERT_EQ(saved.size(), 1U);
    EXPECT_THAT(result.err, HasSubstr("stopped at step " + std::to_string(saved[0].step) + " of "));
    std::uint64_t steps = 0;
    for (const nlohmann::json& event : log_of(run)) steps += event["event"] == "step" ? 1 : 0;
    EXPECT_EQ(saved[0].step, steps);
    EXPECT_NO_THROW(load_training_checkpoint(saved[0].path));
  }
}

TEST(RunningTraining, IsWholeWhenItIsVerified) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  Process process(command_of("semfuse", endless_training(run, {"--checkpoint-every", "1", "--keep", "1"})));
  ASSERT_TRUE(wait_until([&] { return !CheckpointStore(run + "/checkpoints").list().empty(); }));
  for (int i = 0; i < 50; ++i) {
    for (const Finding& finding : verify(run)) EXPECT_TRUE(finding.whole) << finding.path << ": " << finding.text;
  }
  process.signal(SIGINT);
  EXPECT_EQ(process.result().exit_code, 130);
}

TEST(RunningTraining, ACheckpointThatFailsIsTriedAgain) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  Process process(command_of("semfuse", endless_training(run, {"--checkpoint-every", "20"})));
  const CheckpointStore store(run + "/checkpoints");
  ASSERT_TRUE(wait_until([&] { return !store.list().empty(); }));
  // A file where the folder was. In one go: the program would make the folder again.
  std::ofstream(folder / "aside") << "in the way";
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, (run + "/checkpoints").c_str(), AT_FDCWD, (folder / "aside").c_str(), RENAME_EXCHANGE);
  };
  ASSERT_EQ(exchange(), 0);
  const std::uint64_t kept = CheckpointStore(folder / "aside").list().front().step;
  const auto log_size = [&] { return fs::file_size(run + "/log.jsonl"); };
  const auto size = log_size();
  ASSERT_TRUE(wait_until([&] { return log_size() > size + 20000; }));
  EXPECT_TRUE(process.running());
  ASSERT_EQ(exchange(), 0);
  EXPECT_TRUE(wait_until([&] { return !store.list().empty() && store.list().front().step > kept; }));
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, AllOf(HasSubstr("checkpoints/step-"), HasSubstr("cannot write: Not a directory"),
                                HasSubstr("training goes on and tries again at step ")));
}

TEST(RunningTraining, ARemovedRunEndsWithOneLine) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  Process process(command_of("semfuse", endless_training(run, {"--checkpoint-every", "20"})));
  ASSERT_TRUE(wait_until([&] { return !Process::text(run + "/log.jsonl").empty(); }));
  // In one go: the program may write into the folder while it is emptied.
  fs::rename(run, folder / "gone");
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "gone");
  EXPECT_THAT(result.err, HasSubstr(run + "/"));
  EXPECT_FALSE(fs::exists(run));
}

TEST(RunningTraining, AFolderThatCannotBeWrittenIsOneLine) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "locked");
  fs::permissions(folder / "locked",
                  fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  Arguments command = command_of("semfuse", tiny_training(folder / "locked/run"));
  if (::geteuid() == 0) {
    if (!fs::exists("/usr/bin/setpriv")) GTEST_SKIP() << "root writes everywhere";
    fs::permissions(folder.path(), fs::perms::others_exec, fs::perm_options::add);
    const Arguments as_nobody = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"};
    command.insert(command.begin(), as_nobody.begin(), as_nobody.end());
  }
  const ProcessResult result = run_process(command);
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "locked/run: cannot create the folder: Permission denied");
  // A run in a folder that nobody may enter is no other thing than a run.
  ASSERT_EQ(semfuse_program(tiny_training(folder / "hidden/run")).exit_code, 0);
  fs::permissions(folder / "hidden", fs::perms::none);
  const auto as_the_same = [&](const Arguments& arguments) {
    Arguments hidden = command_of("semfuse", arguments);
    hidden.insert(hidden.begin(), command.begin(), std::find(command.begin(), command.end(), hidden.front()));
    return run_process(hidden);
  };
  for (const Arguments& arguments :
       {Arguments{"train", "--resume", folder / "hidden/run"}, Arguments{"log", folder / "hidden/run"},
        Arguments{"inspect", folder / "hidden/run"}}) {
    const ProcessResult refused = as_the_same(arguments);
    EXPECT_EQ(refused.exit_code, 2);
    expect_one_error_line(refused, "Permission denied; check its permissions");
  }
  fs::permissions(folder / "hidden", fs::perms::owner_all);
  // The path is a file, or goes through one.
  std::ofstream(folder / "file") << "x";
  expect_refused(tiny_training(folder / "file"), "file: is already there");
  expect_refused(tiny_training(folder / "file/run"), "file/run: ");
}

TEST(RunningTraining, WhatAKillAfterTheLastModelLeftIsTidied) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  ASSERT_EQ(semfuse_program(tiny_training(run)).exit_code, 0);
  const auto whole = tree_of(run);
  std::ofstream(run + "/checkpoints/step-00000060.safetensors.tmp-1-2") << "half";
  ASSERT_EQ(semfuse_program({"train", "--resume", run, "--quiet"}).exit_code, 0);
  EXPECT_EQ(tree_of(run), whole);
}

TEST(RunningTraining, SurvivesFifteenKills) {
  const TemporaryFolder folder;
  const std::string expected = folder / "expected";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(semfuse_program(killable_training(expected)).exit_code, 0);
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  expect_to_survive(15, whole, expected);
}

}  // namespace
}  // namespace semfuse
