// Methods of steering from the command line: heads are trained, models and heads steer, what is missing is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class SteeringProgram : public testing::Test {
 protected:
  // A tiny model of reviews, with a knob of their column, and a head of each kind.
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    std::ofstream table(path("reviews.tsv"));
    table << "text\tkind\n";
    const char* things[] = {"food", "soup", "staff", "place"};
    const char* good[] = {"great", "tasty", "lovely"};
    const char* bad[] = {"awful", "bland", "rude"};
    for (int i = 0; i < 300; ++i) {
      const bool is_good = i % 5 < 3;
      table << "the " << things[i % 4] << " was " << (is_good ? good : bad)[(i / 7) % 3] << " .\t" << is_good << '\n';
    }
    table.close();
    train({"--data", path("reviews.tsv"), "--out", path("model")});
    for (const char* method : {"value", "fudge", "lm-steer", "pplm"}) {
      const ProcessResult result =
          semfuse_program({"steer", "train", path("model"), "--method", method, "--knob", "kind", "--out", path(method),
                           "--steps", "200", "--batch", "32", "--quiet"});
      ASSERT_EQ(result.exit_code, 0) << result.err;
      EXPECT_THAT(result.out, HasSubstr(" for kind, "));
    }
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static void train(Arguments more) {
    Arguments arguments = {"train", "--quiet"};
    for (const char* setting :
         {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16", "text.tokenizer=words",
          "training.steps=120", "training.batch=32", "training.learning_rate=0.02"})
      arguments.insert(arguments.end(), {"--set", setting});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = semfuse_program(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string generated(const Arguments& more) {
    Arguments arguments = {"generate", path("model"), "--n", "40"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static int good_words(const std::string& text) {
    int count = 0;
    for (const char* word : {"great", "tasty", "lovely"}) {
      for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
    }
    return count;
  }
  static void expect_refused(const Arguments& more, const std::string& part) {
    Arguments arguments = {"generate", path("model")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_one_error_line(semfuse_program(arguments), part);
  }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(SteeringProgram, MethodsSteerBothWays) {
  for (const char* method : {"value", "fudge", "best-of"}) {
    const std::string head = path(method == std::string("best-of") ? "fudge" : method);
    const auto steered = [&](const char* target) {
      return good_words(generated({"--method", method, "--head", head, "--steer", std::string("kind=") + target}));
    };
    EXPECT_GT(steered("1"), steered("0") + 10) << method;
  }
  EXPECT_NE(generated({"--method", "gedi", "--steer", "kind=1"}), generated({"--method", "gedi", "--steer", "kind=0"}));
  EXPECT_NE(generated({"--method", "lm-steer", "--head", path("lm-steer"), "--steer", "kind=1", "--strength", "3"}),
            generated({}));
  EXPECT_EQ(generated({"--method", "guidance", "--knob", "kind=1", "--strength", "3"}),
            generated({"--knob", "kind=1", "--guidance", "3"}));
  EXPECT_EQ(generated({"--knob", "kind=1", "--guidance", "kind=3"}),
            generated({"--knob", "kind=1", "--guidance", "3"}));
  // An expert against itself says nothing.
  EXPECT_EQ(generated({"--method", "dexperts", "--expert", path("model"), "--anti", path("model")}), generated({}));
}

TEST_F(SteeringProgram, PplmSteersBothWays) {
  const auto moved = [&](const char* target, const char* strength, const char* threads) {
    return generated({"--method", "pplm", "--head", path("pplm"), "--steer", std::string("kind=") + target,
                      "--strength", strength, "--threads", threads});
  };
  EXPECT_GT(good_words(moved("1", "2", "1")), good_words(moved("0", "2", "1")) + 5);
  EXPECT_EQ(moved("0", "2", "1"), moved("0", "2", "3"));
  EXPECT_EQ(moved("1", "0", "1"), generated({}));
}

TEST_F(SteeringProgram, TheSameHeadAndTextsAgain) {
  const Arguments again = {"steer",   "train", path("model"), "--knob", "kind",    "--out",     path("again"),
                           "--steps", "200",   "--batch",     "32",     "--quiet", "--threads", "1"};
  ASSERT_EQ(semfuse_program(again).exit_code, 0);
  const auto bytes = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(bytes(path("again")), bytes(path("value")));
  const Arguments steered = {"--method", "value", "--head", path("value"), "--steer", "kind=0.3", "--threads"};
  const auto with = [&](const char* threads) {
    Arguments all = steered;
    all.emplace_back(threads);
    return generated(all);
  };
  EXPECT_EQ(with("1"), with("3"));
}

TEST_F(SteeringProgram, ExplainsWhatTheMethodDid) {
  const Arguments steered = {"--method", "value", "--head", path("value"), "--steer", "kind=1", "--explain", "--json"};
  const std::string text = generated(steered);
  const json first = json::parse(text.substr(0, text.find('\n')))["explanation"][0];
  EXPECT_GT(first["unsteered"].get<double>(), 0.0);
  EXPECT_GT(first["model"].get<double>(), 0.0);
}

TEST_F(SteeringProgram, ASignalStopsTheTrainingOfAHead) {
  Process process(command_of("semfuse", {"steer", "train", path("model"), "--method", "fudge", "--knob", "kind",
                                         "--out", path("stopped"), "--steps", "100000000"}));
  ASSERT_TRUE(wait_until([&] { return process.processor_time() > std::chrono::seconds(2); }));
  process.signal(SIGINT);
  const ProcessResult result = process.result();
  EXPECT_EQ(result.exit_code, 128 + SIGINT);
  expect_one_error_line(result, "stopped was not written");
  EXPECT_FALSE(std::filesystem::exists(path("stopped")));
}

TEST_F(SteeringProgram, SaysWhatIsMissing) {
  expect_refused({"--method", "value"}, "add --steer");
  expect_refused({"--method", "value", "--steer", "kind=1"}, "add --head");
  expect_refused({"--method", "dexperts", "--expert", path("model")}, "add --anti");
  expect_refused({"--method", "gedi", "--steer", "kind=1", "--head", path("value")}, "leave it out");
  expect_refused({"--strength", "3"}, "add it");
  expect_refused({"--method", "value", "--steer", "kind=2", "--head", path("value")}, "from 0 to 1");
  expect_refused({"--method", "value", "--steer", "mood=1", "--head", path("value")}, "steers kind");
  expect_refused({"--method", "fudge", "--steer", "kind=1", "--head", path("value")}, "--method value");
  expect_refused({"--method", "value", "--steer", "kind=1", "--head", path("model/model.safetensors")}, "is no head");
  expect_refused({"--knob", "kind=1", "--guidance", "mood=2"}, "no weight of a knob that is set");
  expect_one_error_line(semfuse_program({"steer", "train", path("model"), "--knob", "mood", "--out", path("x")}),
                        "declare it");
  expect_one_error_line(semfuse_program({"steer", "train", path("model"), "--knob", "kind", "--out", path("value")}),
                        "is already there");
  // Before the model is read.
  expect_one_error_line(semfuse_program({"steer", "train", path("none"), "--knob", "kind", "--out", path("no/head")}),
                        "there is no folder");
}

}  // namespace
}  // namespace semfuse
