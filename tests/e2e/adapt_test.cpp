// Knobs for imported models on the command line.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"
#include "support/foreign_files.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

class Adapt : public testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "model.bin", small_llama_file());
    write_file(folder_ / "tokenizer.bin", small_llama_tokenizer());
    ASSERT_EQ(semfuse_program({"import", folder_ / "model.bin", "--out", folder_ / "backbone"}).exit_code, 0);
    std::string rows = "mood\ttext\n";
    for (int i = 0; i < 60; ++i) rows += i % 2 == 0 ? "positive\tab ab a ab\n" : "negative\tbb ba bb b\n";
    write_file(folder_ / "texts.tsv", rows);
  }
  ProcessResult adapt(const std::string& out, const Arguments& more = {}) const {
    Arguments arguments = {"adapt", folder_ / "backbone", "--data", folder_ / "texts.tsv",
                           "--val", folder_ / "texts.tsv"};
    arguments.insert(arguments.end(), {"--out", folder_ / out});
    arguments.insert(arguments.end(), {"--rank", "2", "--set", "training.epochs=3", "--no-calibrate"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return semfuse_program(arguments);
  }
  std::string bytes(const std::string& run) const {
    std::ifstream file(folder_ / (run + "/model.safetensors"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string out_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }

  TemporaryFolder folder_;
};

TEST_F(Adapt, WithoutAKnobTheModelIsItsBackbone) {
  const ProcessResult trained = adapt("knobbed");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  for (const char* text : {"ab a bb", "b"}) {
    const json own = json::parse(out_of({"score", folder_ / "knobbed", "--text", text, "--json"}));
    const json backbone = json::parse(out_of({"score", folder_ / "backbone", "--text", text, "--json"}));
    EXPECT_EQ(own["nll"], backbone["nll"]);
    EXPECT_EQ(own["last_logits"], backbone["last_logits"]);
    EXPECT_EQ(own["ids"], backbone["ids"]);
    EXPECT_EQ(own["bits_per_byte"], backbone["bits_per_byte"]);
    const auto greedy = [&](const char* model, const Arguments& more = {}) {
      Arguments arguments = {"generate", folder_ / model, "--prompt",     text, "--temperature",
                             "0",        "--json",        "--max-tokens", "12"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      return json::parse(out_of(arguments));
    };
    EXPECT_EQ(greedy("knobbed")["text"], greedy("backbone")["text"]);
    EXPECT_NE(greedy("knobbed", {"--knob", "mood=1"})["text"], greedy("knobbed", {"--knob", "mood=0"})["text"]);
  }
  EXPECT_LT(fs::file_size(folder_ / "knobbed/model.safetensors"),
            fs::file_size(folder_ / "backbone/model.safetensors"));
}

TEST_F(Adapt, ScoresATextUnderWhatIsAskedFor) {
  ASSERT_EQ(adapt("knobbed").exit_code, 0);
  const auto score = [&](const std::string& text, const Arguments& more) {
    Arguments arguments = {"score", folder_ / "knobbed", "--text", text, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return json::parse(out_of(arguments));
  };
  for (const char* text : {"ab ab a ab", "bb ba bb b"}) {
    const json asked = score(text, {"--knob", "mood=1"});
    const json other = score(text, {"--knob", "mood=0"});
    const bool is_positive = text[0] == 'a';
    EXPECT_EQ(asked["bits_per_byte"] < other["bits_per_byte"], is_positive) << asked << other;
    EXPECT_EQ(asked["ids"], other["ids"]);
    EXPECT_EQ(asked, score(text, {"--knob", "mood=1", "--uncalibrated", "--window", "16"}));
  }
  const auto refused = [&](const Arguments& arguments, const std::string& part) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(part));
  };
  refused({"score", folder_ / "backbone", "--text", "ab", "--knob", "mood=1"}, "has no knobs");
  refused({"score", folder_ / "knobbed", "--text", "ab", "--knob", "mod=1"}, "mood");
  refused({"score", folder_ / "knobbed", "--text", "ab", "--uncalibrated"}, "add --knob");
}

TEST_F(Adapt, HasTheSameBitsForAnyNumberOfThreadsAndAfterAStop) {
  ASSERT_EQ(adapt("one", {"--threads", "1"}).exit_code, 0);
  ASSERT_EQ(adapt("three", {"--threads", "3"}).exit_code, 0);
  EXPECT_EQ(bytes("one"), bytes("three"));
  // As if it had been stopped: its last steps are taken away.
  ASSERT_EQ(adapt("stopped", {"--checkpoint-every", "2", "--keep", "9"}).exit_code, 0);
  fs::path last;
  for (const auto& entry : fs::directory_iterator(folder_ / "stopped/checkpoints")) {
    if (entry.path().extension() == ".safetensors") last = std::max(last, entry.path());
  }
  fs::remove(last);
  fs::remove(folder_ / "stopped/model.safetensors");
  const ProcessResult resumed = semfuse_program({"adapt", "--resume", folder_ / "stopped"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(bytes("stopped"), bytes("one"));
}

TEST_F(Adapt, RefusesABackboneThatIsGoneOrAnother) {
  ASSERT_EQ(adapt("knobbed").exit_code, 0);
  const auto refused = [&](const std::string& part) {
    for (const char* command : {"generate", "inspect"}) {
      const ProcessResult result = semfuse_program({command, folder_ / "knobbed"});
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_THAT(result.err, HasSubstr(part));
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }
  };
  const fs::path file = folder_ / "backbone/model.safetensors";
  fs::copy_file(file, folder_ / "kept");
  {
    std::fstream changed(file, std::ios::binary | std::ios::in | std::ios::out);
    changed.seekp(-3, std::ios::end);
    changed.put('x');
  }
  refused("has changed");
  fs::remove(file);
  refused("is not there");
  fs::copy_file(folder_ / "kept", file);  // Another time, the same bytes.
  EXPECT_EQ(semfuse_program({"inspect", folder_ / "knobbed"}).exit_code, 0);
}

TEST_F(Adapt, RefusesInOneLine) {
  const auto refused = [&](const Arguments& arguments, const std::string& part) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(part));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  const std::string out = folder_ / "out";
  write_file(folder_ / "plain.txt", "ab a\nb ab\n");
  refused({"adapt", "--out", out}, "the model is missing");
  refused({"adapt", folder_ / "backbone", "--out", out}, "--data is missing");
  refused({"adapt", folder_ / "nowhere", "--data", folder_ / "texts.tsv", "--out", out}, "nowhere");
  refused({"adapt", folder_ / "backbone", "--data", folder_ / "plain.txt", "--out", out},
          "no column that could be one");
  refused({"adapt", folder_ / "backbone", "--data", folder_ / "texts.tsv", "--out", out, "--rank", "-1"}, "--rank");
  refused({"adapt", folder_ / "backbone", "--data", folder_ / "texts.tsv", "--out", out, "--set", "model.width=8"},
          "the backbone says what the model is");
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace semfuse
