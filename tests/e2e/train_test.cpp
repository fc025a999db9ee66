#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "e2e/run_files.h"
#include "e2e/semfuse_program.h"
#include "semfuse/checkpoint.h"
#include "semfuse/evaluation.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

TEST(TrainCommand, WritesModelConfigurationAndLog) {
  const TemporaryFolder folder;
  const std::string run = folder / "deep/run";
  const ProcessResult result =
      semfuse_program(tiny_training(run, {"--preset", "paper-fusion", "--set", "training.epochs=2", "--seed", "5"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("\r")));
  EXPECT_THAT(result.out, testing::HasSubstr("epoch 2/2"));
  EXPECT_THAT(result.out, testing::HasSubstr("(bidirectional attention), seen-only"));
  EXPECT_THAT(result.out, testing::HasSubstr("run/model.safetensors holds the model after epoch 2\n"));

  const Checkpoint checkpoint = load_checkpoint(run);
  EXPECT_EQ(checkpoint.experiment().seed, 5U);
  EXPECT_EQ(Process::text(run + "/config.toml"), to_toml(checkpoint.experiment()));

  EXPECT_EQ(log_of(run).front()["event"], "start");
  EXPECT_TRUE(log_of(run).front()["instruction_set"].is_string());
  EXPECT_EQ(log_of(run).back()["event"], "finished");
  const std::vector<nlohmann::json> log = steps_and_evaluations_of(run);
  ASSERT_EQ(log.size(), 6U);
  for (const std::size_t i : {0, 1, 3, 4}) {
    EXPECT_EQ(log[i]["event"], "step");
    for (const char* key : {"step", "epoch", "loss", "loss_tokens", "loss_features", "loss_uniformity", "gradient_norm",
                            "learning_rate", "tokens", "tokens_per_second"}) {
      EXPECT_TRUE(log[i][key].is_number()) << key;
    }
  }
  EXPECT_EQ(log[4]["step"], 4);
  EXPECT_EQ(log[5]["event"], "evaluation");
  EXPECT_EQ(log[5]["attention"], "bidirectional");

  const SyntheticCorpusOptions options = synthetic_corpus_options(checkpoint.experiment());
  const Evaluation evaluation =
      evaluate(checkpoint.model, make_synthetic_corpus(options).val, {.held_out = options.held_out});
  EXPECT_EQ(log[5]["perplexity"], evaluation.perplexity);
  EXPECT_EQ(log[5]["seen_only_perplexity"], evaluation.seen_only_perplexity);
  EXPECT_EQ(log[5]["feature_mse"], evaluation.feature_mse);
}

TEST(TrainCommand, TrainsTheSemfuseModelByDefault) {
  const TemporaryFolder folder;
  ASSERT_EQ(semfuse_program(tiny_training(folder / "a", {"--quiet", "--set", "corpus.train=200"})).exit_code, 0);
  ASSERT_EQ(
      semfuse_program(tiny_training(folder / "b", {"--preset", "semfuse", "--quiet", "--set", "corpus.train=200"}))
          .exit_code,
      0);
  EXPECT_EQ(Process::text(folder / "a/model.safetensors"), Process::text(folder / "b/model.safetensors"));
  const Checkpoint checkpoint = load_checkpoint(folder / "a");
  EXPECT_EQ(checkpoint.model.options().attention, AttentionMask::causal);
  EXPECT_EQ(checkpoint.model.feature_bank().options().bank, FeatureSet::open);
  std::vector<std::string> unseen;
  for (std::size_t id = 0; id < checkpoint.model.seen().size(); ++id) {
    if (!checkpoint.model.seen()[id]) unseen.push_back(checkpoint.model.vocabulary().entries()[id]);
  }
  EXPECT_THAT(unseen, testing::UnorderedElementsAreArray(paper_held_out_words()));
  EXPECT_TRUE(log_of(folder / "a")[1]["loss_classes"].is_number());
}

TEST(TrainCommand, ItsConfigurationRepeatsTheRun) {
  const TemporaryFolder folder;
  ASSERT_EQ(semfuse_program(tiny_training(folder / "a", {"--set", "corpus.held_out=random", "--seed", "9"})).exit_code,
            0);
  ASSERT_EQ(semfuse_program({"train", "--config", folder / "a/config.toml", "--out", folder / "b"}).exit_code, 0);
  EXPECT_EQ(Process::text(folder / "a/model.safetensors"), Process::text(folder / "b/model.safetensors"));
}

TEST(TrainCommand, SameBytesForAnyNumberOfThreads) {
  for (const char* preset : {"paper-fusion", "paper-baseline", "semfuse"}) {
    const TemporaryFolder folder;
    std::string first;
    for (const char* threads : {"1", "2", "3", "4"}) {
      const std::string run = folder / threads;
      ASSERT_EQ(
          semfuse_program(tiny_training(run, {"--preset", preset, "--threads", threads, "--set", "corpus.train=200"}))
              .exit_code,
          0);
      const std::string bytes = Process::text(run + "/model.safetensors");
      ASSERT_FALSE(bytes.empty());
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << threads << " threads";
    }
    ASSERT_EQ(semfuse_program(
                  tiny_training(folder / "other", {"--preset", preset, "--seed", "8", "--set", "corpus.train=200"}))
                  .exit_code,
              0);
    EXPECT_NE(Process::text(folder / "other/model.safetensors"), first);
  }
}

TEST(TrainCommand, JsonAndQuiet) {
  const TemporaryFolder folder;
  const ProcessResult result = semfuse_program(tiny_training(folder / "a", {"--preset", "paper-baseline", "--json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["steps"], 2);
  EXPECT_EQ(json["evaluations"].size(), 1U);
  EXPECT_TRUE(json["evaluations"][0]["perplexity"].is_number());
  EXPECT_TRUE(json["evaluations"][0]["feature_mse"].is_null()) << "a baseline reads no features back";
  EXPECT_THAT(result.err, testing::HasSubstr("epoch 1/1"));
  const ProcessResult quiet = semfuse_program(tiny_training(folder / "b", {"--quiet"}));
  EXPECT_EQ(quiet.exit_code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST(TrainCommand, AnExistingRunStaysAsItIs) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "run");
  std::ofstream(folder / "run/model.safetensors") << "mine";
  std::ofstream(folder / "file") << "mine";
  fs::create_symlink(folder / "nowhere", folder / "link");
  for (const char* name : {"run", "run/", "file", "link"})
    expect_refused(tiny_training(folder / name), "is already there");
  EXPECT_EQ(Process::text(folder / "run/model.safetensors"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "run"), {}), 1);
  fs::create_directory(folder / "empty");
  EXPECT_EQ(semfuse_program(tiny_training(folder / "empty", {"--quiet"})).exit_code, 0);
  EXPECT_EQ(Process::text(folder / "file"), "mine");
}

TEST(TrainCommand, RefusalsCreateNothing) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const auto set = [&](const char* setting) { return tiny_training(run, {"--set", setting}); };
  expect_refused(set("model.widht=8"), "did you mean \"model.width\"?");
  expect_refused(set("model.width=big"), "model.width wants a whole number");
  expect_refused(set("model.width=1e9"), "model.width");
  expect_refused(set("model.width=-1"), "model.width");
  expect_refused(set("model.width=9"), "model.width");
  expect_refused(set("model.width=1000000"), "parameters");
  expect_refused(set("training.learning_rate=nan"), "training.learning_rate");
  expect_refused(set("training.batch=10000000000"), "training.batch");
  expect_refused(set("corpus.max_length=4"), "corpus.max_length");
  expect_refused(set("="), "unknown key");
  expect_refused(tiny_training(run, {"--threads", "1000000"}), "--threads is \"1000000\"");
  expect_refused(tiny_training(run, {"--threads", "0"}), "--threads");
  expect_refused(tiny_training(run, {"--threads", "-1"}), "--threads");
  expect_refused(tiny_training(run, {"--seed", "-1"}), "--seed: seed is -1");
  expect_refused(tiny_training(run, {"--preset", "paper-fuson"}), "did you mean \"paper-fusion\"?");
  expect_refused(tiny_training(run, {"--config", folder / "absent.toml"}), "absent.toml: cannot open");
  std::ofstream(folder / "bad.toml") << "[model]\nwidth = 8\nheads = 3\n";
  expect_refused({"train", "--config", folder / "bad.toml", "--out", run}, "bad.toml:3: ");
  expect_refused(tiny_training(""), "--out is empty");
  expect_refused(tiny_training("/proc/nowhere/run"), "/proc/nowhere");
  expect_refused(tiny_training(folder / "bad.toml/run"), "bad.toml");
  EXPECT_FALSE(fs::exists(run));
}

TEST(TrainCommand, NotANumberKeepsTheLastGoodModel) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  // The rate rises from 0 in the first epoch; from then on each step multiplies the weights by up to 99.
  const Arguments settings = {"--set", "training.batch=64",       "--set", "training.epochs=50",
                              "--set", "training.warmup=0.04",    "--set", "training.learning_rate=10",
                              "--set", "training.weight_decay=10"};
  const ProcessResult result = semfuse_program(tiny_training(run, settings));
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "is not finite");
  EXPECT_THAT(result.err, testing::ContainsRegex("stopped at step [0-9]+ of 50"));
  EXPECT_THAT(result.err, testing::ContainsRegex("holds the model after epoch [0-9]+"));
  const Checkpoint checkpoint = load_checkpoint(run);
  const Corpus corpus = make_synthetic_corpus(synthetic_corpus_options(checkpoint.experiment()));
  EXPECT_TRUE(std::isfinite(evaluate(checkpoint.model, corpus.val).perplexity));
  std::vector<nlohmann::json> skipped;
  for (const nlohmann::json& event : log_of(run)) {
    if (event["event"] == "skipped") skipped.push_back(event);
  }
  ASSERT_GE(skipped.size(), 10U) << "the eleventh in a row ends it";
  EXPECT_EQ(skipped.back()["not_finite"], "loss");
  const int last = skipped.back()["step"].get<int>();
  EXPECT_EQ(skipped[skipped.size() - 10]["step"], last - 9);
  EXPECT_THAT(result.err, testing::HasSubstr("stopped at step " + std::to_string(last + 1) + " of 50"));
}

TEST(TrainCommand, NoRoomForFiles) {
  const TemporaryFolder folder;
  const auto with_limit = [&](int blocks, const std::string& name, const char* epochs) {
    std::string line = "ulimit -f " + std::to_string(blocks) + "; exec";
    for (const std::string& word : command_of("semfuse", tiny_training(folder / name, {"--quiet", "--set", epochs}))) {
      line += " '" + word + "'";
    }
    return run_process({"/bin/sh", "-c", line});
  };
  // A block is 512 bytes: too few for the configuration, then enough for the model but not for the log.
  const ProcessResult none = with_limit(2, "none", "training.epochs=1");
  EXPECT_EQ(none.exit_code, 2);
  expect_one_error_line(none, "config.toml: cannot write: File too large");
  EXPECT_FALSE(fs::exists(folder / "none"));
  const ProcessResult some = with_limit(60, "some", "training.epochs=1000000");
  EXPECT_EQ(some.exit_code, 2);
  expect_one_error_line(some, "log.jsonl: cannot write: File too large");
  EXPECT_THAT(some.err, testing::ContainsRegex("holds the model after epoch [0-9]+\n"));
  EXPECT_NO_THROW(load_checkpoint(folder / "some"));
}

TEST(TrainCommand, AFullStandardOutputDoesNotStopTraining) {
  const TemporaryFolder folder;
  const ProcessResult result = run_process(command_of("semfuse", tiny_training(folder / "run")), "/dev/full");
  EXPECT_EQ(result.exit_code, 2);
  expect_one_error_line(result, "holds the model after epoch 1");
}

TEST(TrainCommand, ASignalEndsItAfterTheStep) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const TemporaryFolder folder;
    const std::string run = folder / "run";
    Process process(command_of("semfuse", tiny_training(run, {"--set", "training.epochs=1000000"})));
    ASSERT_TRUE(wait_until([&] { return !Process::text(run + "/log.jsonl").empty(); }));
    process.signal(number);
    const ProcessResult result = process.result();
    EXPECT_EQ(result.exit_code, 128 + number);
    expect_one_error_line(result, "stopped at step ");
    EXPECT_THAT(result.err, testing::HasSubstr("run/model.safetensors holds "));
    std::uint64_t steps = 0;
    for (const nlohmann::json& event : log_of(run)) steps += event["event"] == "step" ? 1 : 0;
    EXPECT_THAT(result.err, testing::HasSubstr("stopped at step " + std::to_string(steps) + " of "));
    EXPECT_NO_THROW(load_checkpoint(run));
  }
}

TEST(TrainCommand, ASecondSignalEndsItAtOnce) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer holds signals back while the C library writes";
#endif
  const TemporaryFolder folder;
  // A pipe that nobody empties: the program waits in a write, which the first signal does not end.
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GT(::fcntl(reader, F_SETPIPE_SZ, 4096), 0);
  Process process(
      command_of("semfuse", tiny_training(folder / "run", {"--set", "training.epochs=1000000", "--threads", "1"})),
      pipe);
  // With one thread it never waits for anything else for long.
  int asleep = 0;
  ASSERT_TRUE(wait_until([&] {
    asleep = process.is_asleep() ? asleep + 1 : 0;
    return asleep == 200;
  }));
  process.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(process.running());
  process.signal(SIGINT);
  EXPECT_EQ(process.result(std::chrono::seconds(20)).exit_code, 130);
  ::close(reader);
}

}  // namespace
}  // namespace semfuse
