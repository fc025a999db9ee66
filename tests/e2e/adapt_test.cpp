// Knobs for imported models on the command line.
#include <algorithm>
#include <array>
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

// Texts in many orders, so that some are left for a judge: words of one side or of the other.
class AdaptedByAHead : public Adapt {
 protected:
  void SetUp() override {
    Adapt::SetUp();
    constexpr std::array kSides = {std::array{"ab", "a", "aa"}, std::array{"bb", "b", "ba"}};
    std::string rows = "mood\ttext\n";
    for (int i = 0; i < 400; ++i) {
      rows += i % 2 == 0 ? "positive\t" : "negative\t";
      for (int word = 0, rest = i / 2; word < 5; ++word, rest /= 3) {
        rows += std::string(word > 0 ? " " : "") +
                kSides[static_cast<std::size_t>(i % 2)][static_cast<std::size_t>(rest % 3)];
      }
      rows += '\n';
    }
    write_file(folder_ / "many.tsv", rows);
  }
  void adapt_many(const std::string& out, const std::string& threads) const {
    const ProcessResult result = semfuse_program({"adapt", folder_ / "backbone", "--data", folder_ / "many.tsv",
                                                  "--out", folder_ / out, "--rank", "1", "--set", "training.epochs=1",
                                                  "--set", "data.judge_share=0.3", "--threads", threads, "--quiet"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, testing::Not(HasSubstr("not calibrated")));
  }
  // How many letters of some texts are those of the positive side, where there are no others.
  double positive_letters(const std::string& run, const Arguments& more) const {
    write_file(folder_ / "letters.gbnf", "root ::= [ab] [ab ]+\n");
    Arguments arguments = {"generate",     folder_ / run, "--n",       "200",
                           "--max-tokens", "10",          "--grammar", folder_ / "letters.gbnf"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string texts = out_of(arguments);
    const auto count = [&](char letter) { return static_cast<double>(std::ranges::count(texts, letter)); };
    return count('a') / (count('a') + count('b'));
  }
};

TEST_F(AdaptedByAHead, TurnsItsKnobAndLeavesTheRestToTheBackbone) {
  adapt_many("knobbed", "1");
  EXPECT_THAT(out_of({"inspect", folder_ / "knobbed"}), HasSubstr("turned by a head"));
  EXPECT_GT(positive_letters("knobbed", {"--knob", "mood=1", "--uncalibrated"}),
            positive_letters("knobbed", {"--knob", "mood=0", "--uncalibrated"}) + 0.05);
  const json own = json::parse(out_of({"score", folder_ / "knobbed", "--text", "ab b a", "--json"}));
  const json backbone = json::parse(out_of({"score", folder_ / "backbone", "--text", "ab b a", "--json"}));
  EXPECT_EQ(own["last_logits"], backbone["last_logits"]);
  EXPECT_EQ(out_of({"generate", folder_ / "knobbed", "--n", "20"}),
            out_of({"generate", folder_ / "backbone", "--n", "20"}));
  adapt_many("again", "2");
  const std::string whole = bytes("knobbed");
  EXPECT_EQ(bytes("again"), whole);
  // Damaged where its head is, the file is no model.
  const std::size_t heads = whole.find("\"heads\"");
  ASSERT_NE(heads, std::string::npos);
  for (const std::size_t at : {heads + 30, heads + 4000}) {
    std::string damaged = whole;
    damaged[at] = damaged[at] == 'A' ? 'B' : 'A';
    write_file(folder_ / "knobbed/model.safetensors", damaged);
    for (const char* command : {"generate", "inspect"}) {
      expect_refused({command, folder_ / "knobbed"}, "model.safetensors");
    }
  }
}

TEST_F(AdaptedByAHead, HeadsOfTheirOwnSteerImportedModelsToo) {
  const ProcessResult trained =
      semfuse_program({"steer", "train", folder_ / "backbone", "--data", folder_ / "many.tsv", "--knob",
                       "mood: probability of column mood", "--out", folder_ / "head", "--quiet"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const auto steered = [&](const std::string& target) {
    return positive_letters("backbone", {"--method", "value", "--head", folder_ / "head", "--steer", "mood=" + target});
  };
  EXPECT_GT(steered("1"), steered("0") + 0.05);
  expect_refused({"steer", "train", folder_ / "backbone", "--data", folder_ / "many.tsv", "--method", "pplm", "--knob",
                  "mood: probability of column mood", "--out", folder_ / "other", "--quiet"},
                 "imported model does not show");
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
