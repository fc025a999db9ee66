// Knobs of labels from a file to settings that mean what they say: judges, training, calibration, generation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "io/file.h"
#include "run/checkpoint_store.h"
#include "run_files.h"
#include "semfuse/checkpoint.h"
#include "semfuse_program.h"
#include "support/pseudo_terminal.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

// A text is kind or not by its word; one label in twenty is wrong.
std::string labelled_reviews(std::size_t count, std::size_t first = 0) {
  const std::vector<std::string> things = {"the food", "our waiter", "this place", "the soup", "my room"};
  const std::vector<std::string> words = {"awful", "bad", "poor", "fine", "good", "great"};
  std::ostringstream text;
  text << "text\tkind\n";
  for (std::size_t i = first; i < first + count; ++i) {
    const std::size_t word = i * 7 % 6;
    const bool kind = (word > 2) != (i % 20 == 3);
    text << things[i / 6 % 5] << " was " << (i % 3 == 0 ? "very " : "") << words[word] << (i % 4 == 0 ? " on " : " at ")
         << i % 97 << '\t' << (kind ? "yes" : "no") << '\n';
  }
  return text.str();
}

class Calibrate : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    std::ofstream(path("reviews.tsv")) << labelled_reviews(2400);
    Arguments arguments = {"train", "--data", path("reviews.tsv"), "--out", path("model"), "--json"};
    for (const char* setting :
         {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16", "text.tokenizer=words",
          "text.vocabulary=400", "training.epochs=6", "training.batch=32", "training.soft_labels=true"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    trained_ = semfuse_program(arguments);
    ASSERT_EQ(trained_.exit_code, 0) << trained_.err;
    fs::copy(path("model"), path("whole"), fs::copy_options::recursive);
  }
  // The run as a kill leaves it after the last step and before the map of its knob.
  static std::string run_without_map(const std::string& name) {
    fs::copy(path("whole"), path(name), fs::copy_options::recursive);
    const std::string file = path(name + "/model.safetensors");
    Checkpoint checkpoint = load_checkpoint(file);
    EXPECT_FALSE(checkpoint.model.calibration().empty());
    checkpoint.model.set_calibration({});
    save_checkpoint(file, checkpoint.model, checkpoint.config);
    fs::remove(path(name + "/judge-kind.safetensors"));
    return path(name);
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string model_bytes() { return read_text(path("model/model.safetensors")); }
  static json json_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out, nullptr, false);
  }

  static inline ProcessResult trained_;

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Calibrate, TrainingDoesItAtItsEnd) {
  EXPECT_THAT(trained_.err, HasSubstr("are kept apart for judges (data.judge_share = 0.3)"));
  EXPECT_THAT(trained_.err, HasSubstr("calibrated"));
  EXPECT_TRUE(fs::exists(path("model/judge-kind.safetensors")));
  const ProcessResult inspected = semfuse_program({"inspect", path("model")});
  EXPECT_THAT(inspected.out, HasSubstr("turned by a head; calib"));
  const Arguments generate = {"generate", path("model"), "--n", "30", "--knob", "kind=0"};
  const ProcessResult mapped = semfuse_program(generate);
  EXPECT_EQ(mapped.err, "");
  Arguments raw = generate;
  raw.emplace_back("--uncalibrated");
  EXPECT_EQ(semfuse_program(raw).err, "");
}

TEST_F(Calibrate, ResumingDoesWhatAKillLeftUndone) {
  const std::string run = run_without_map("killed");
  const ProcessResult result = semfuse_program({"train", "--resume", run});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("its knobs are yet to be calibrated"));
  EXPECT_EQ(tree_of(run), tree_of(path("whole")));
  EXPECT_THAT(semfuse_program({"train", "--resume", run}).out, HasSubstr("there is nothing to resume"));
  EXPECT_EQ(tree_of(run), tree_of(path("whole")));
}

TEST_F(Calibrate, ResumingLeavesOutWhatWasNotAskedFor) {
  const std::string run = run_without_map("raw");
  const auto before = tree_of(run);
  EXPECT_THAT(semfuse_program({"train", "--resume", run, "--no-calibrate"}).out, HasSubstr("nothing to resume"));
  EXPECT_EQ(tree_of(run), before);
  CheckpointStore(run + "/checkpoints").save_settings({.calibrate = false});
  EXPECT_THAT(semfuse_program({"train", "--resume", run}).out, HasSubstr("nothing to resume"));
  EXPECT_EQ(read_text(run + "/model.safetensors"), before.at("model.safetensors"));
}

TEST_F(Calibrate, ASignalAtTheEndOfTrainingSaysHowToGoOn) {
  const std::string run = run_without_map("stopped");
  const std::string before = read_text(run + "/model.safetensors");
  Process process(command_of("semfuse", {"train", "--resume", run}), path("stopped.out"));
  ASSERT_TRUE(wait_until([] { return Process::text(path("stopped.out")).find("yet to be") != std::string::npos; }));
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 130);
  expect_one_error_line(result, "go on with `semfuse train --resume " + run + "`");
  EXPECT_EQ(read_text(run + "/model.safetensors"), before);
}

TEST_F(Calibrate, MeasuresBeforeAndAfterAndKeepsTheMap) {
  const std::string before = model_bytes();
  const Arguments arguments = {"calibrate", path("model"), "--knob", "kind", "--n", "40", "--json"};
  Arguments dry = arguments;
  dry.insert(dry.end(), {"--dry-run", "--threads", "1"});
  const json tried = json_of(dry);
  EXPECT_EQ(model_bytes(), before);
  const json result = json_of(arguments);
  EXPECT_EQ(result, tried);  // For any number of threads.
  EXPECT_NE(model_bytes(), before);
  ASSERT_EQ(result["levels"].size(), 11u);
  EXPECT_EQ(result["n"], 40);
  EXPECT_EQ(result["map"].size(), 1u);
  double request = -1.0;
  for (const json& point : result["map"][0]) {
    EXPECT_GE(point["request"].get<double>(), request);
    request = point["request"].get<double>();
  }
  EXPECT_LE(result["calibrated"]["mae"].get<double>(), 0.15);
  const std::string after = model_bytes();
  json_of(arguments);
  EXPECT_EQ(model_bytes(), after);
}

TEST_F(Calibrate, TakesAnyProgramAsJudgeAndLosesNothingWhenItFails) {
  const std::string before = model_bytes();
  const auto calibrate = [](const std::string& judge) {
    return Arguments{"calibrate", path("model"), "--knob", "kind", "--n", "20", "--judge", judge};
  };
  expect_refused(calibrate("exit 4"), "failed with exit code 4");
  expect_refused(calibrate("echo 0.5"), "writes 1 lines for");
  expect_refused(calibrate("sed s/.*/good/"), "not a number");
  Arguments slow = calibrate("sleep 60");
  slow.insert(slow.end(), {"--judge-timeout", "1"});
  expect_refused(slow, "has not ended after 1 s");
  expect_refused({"calibrate", path("model"), "--knob", "kin"}, "kind");
  EXPECT_EQ(model_bytes(), before);
  Arguments good = calibrate("awk '{ print /good|great|fine/ ? 1 : 0 }'");
  good.emplace_back("--json");
  EXPECT_THAT(json_of(good)["judge"].get<std::string>(), HasSubstr("command "));
}

TEST_F(Calibrate, ResultsFitATerminal) {
  for (const Arguments& arguments :
       {Arguments{"evaluate", path("model")},
        Arguments{"calibrate", path("model"), "--knob", "kind", "--n", "20", "--dry-run"}}) {
    const std::string shown = run_on_terminal(command_of("semfuse", arguments)).bytes;
    const std::string plain = std::regex_replace(shown, std::regex("\x1b\\[[0-9;?]*[a-zA-Z]"), "");
    for (std::size_t begin = 0; begin < plain.size();) {
      const std::size_t end = std::min(plain.find_first_of("\r\n", begin), plain.size());
      const std::string line = plain.substr(begin, end - begin);
      const auto begins_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
      EXPECT_LE(std::count_if(line.begin(), line.end(), begins_character), 80) << line;
      begin = end + 1;
    }
  }
}

TEST_F(Calibrate, ASignalStopsAJudgeThatIsAProgram) {
  const std::string before = model_bytes();
  const std::string judge = "touch " + path("judging") + "; sleep 60";
  Process process(command_of("semfuse", {"calibrate", path("model"), "--knob", "kind", "--judge", judge}));
  ASSERT_TRUE(wait_until([] { return fs::exists(path("judging")); }));
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  expect_one_error_line(result, "stopped; the model is as it was");
  EXPECT_EQ(model_bytes(), before);
}

TEST_F(Calibrate, JudgesAreTrainedAndChecked) {
  std::ofstream(path("more.tsv")) << labelled_reviews(300, 5000);
  const json trained =
      json_of({"judge", "train", "--data", path("reviews.tsv"), "--label", "kind", "--out", path("j.st"), "--json"});
  EXPECT_GT(trained["accuracy"].get<double>(), 0.9);
  const json checked = json_of({"judge", "check", path("j.st"), "--data", path("more.tsv"), "--json"});
  EXPECT_GT(checked["accuracy"].get<double>(), 0.9);
  EXPECT_LT(checked["calibration_error"].get<double>(), 0.08);
  EXPECT_EQ(checked["texts"], 300);
  EXPECT_EQ(checked["fingerprint"], trained["fingerprint"]);
  const json used = json_of(
      {"calibrate", path("model"), "--knob", "kind", "--n", "20", "--judge", path("j.st"), "--dry-run", "--json"});
  EXPECT_EQ(used["judge"], trained["fingerprint"]);
  expect_refused({"judge", "train", "--data", path("reviews.tsv"), "--label", "kind", "--out", path("j.st")},
                 "is already there");
  // Before anything is read.
  expect_refused({"judge", "train", "--data", path("none"), "--label", "kind", "--out", path("no/j.st")}, "no folder");
  expect_refused({"judge", "check", path("reviews.tsv"), "--data", path("more.tsv")}, "reviews.tsv");
  expect_refused({"judge", "train", "--data", path("more.tsv"), "--label", "stars", "--out", path("k")}, "stars");
  std::ofstream genres(path("genres.tsv"));
  genres << "text\tgenre\thuge\n";
  for (int i = 0; i < 60; ++i)
    genres << "some text " << i << (i % 2 == 0 ? "\tdrama, war\t1e300\n" : "\twar\t-1e300\n");
  genres.close();
  const auto judge_of = [](const std::string& label) {
    return Arguments{"judge", "train", "--data", path("genres.tsv"), "--label", label, "--out", path("k")};
  };
  expect_refused(judge_of("genre"), "--label \"genre\": its label \"drama, war\" holds a comma");
  expect_refused(judge_of("huge"), "--label \"huge\": a model cannot tell");
}

TEST_F(Calibrate, LabelsMayHaveASign) {
  std::ofstream signs(path("signs.tsv"));
  signs << "text\tside\n";
  for (int i = 0; i < 200; ++i) signs << (i % 2 == 0 ? "good " : "bad ") << i << (i % 2 == 0 ? "\t+1\n" : "\t-1\n");
  signs.close();
  const json trained =
      json_of({"judge", "train", "--data", path("signs.tsv"), "--label", "side", "--out", path("s.st"), "--json"});
  EXPECT_GT(trained["correlation"].get<double>(), 0.9);
}

TEST_F(Calibrate, AModelWithoutAMapSaysSoOnce) {
  std::ofstream(path("few.tsv")) << labelled_reviews(200);
  const ProcessResult result = semfuse_program(
      {"train", "--data", path("few.tsv"), "--out", path("small"), "--quiet", "--set", "model.width=8", "--set",
       "model.layers=1", "--set", "model.heads=2", "--set", "training.epochs=1", "--set", "model.feed_forward=8"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(fs::exists(path("small/judge-kind.safetensors")));
  const ProcessResult generated = semfuse_program({"generate", path("small"), "--n", "3", "--knob", "kind=1"});
  const std::size_t said = generated.err.find("knob kind is not calibrated");
  ASSERT_NE(said, std::string::npos) << generated.err;
  EXPECT_EQ(generated.err.find("not calibrated", said + 20), std::string::npos) << generated.err;
  EXPECT_THAT(semfuse_program({"generate", path("small"), "--knob", "kind=1", "--uncalibrated"}).err,
              Not(HasSubstr("calibrated")));
  expect_refused({"calibrate", path("small"), "--knob", "kind"}, "name one with --judge");
}

}  // namespace
}  // namespace semfuse
