// Models of people's own texts: from a file to a model that is asked, measured, resumed and verified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "io/file.h"
#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

// Reviews with a heading: a text, stars from 1 to 5, and whether they are kind.
std::string starred_reviews(std::size_t count, std::size_t first = 0) {
  const std::vector<std::string> things = {"the food", "our waiter", "this café", "the soup", "my room"};
  const std::vector<std::string> words = {"awful", "bad", "fine", "good", "great"};
  const std::vector<std::string> marks = {".", "!", "?"};
  std::ostringstream text;
  text << "text\tstars\tkind\n";
  for (std::size_t i = first; i < first + count; ++i) {
    const std::size_t stars = i * 7 % 5;
    text << things[i / 5 % 5] << " was " << (i % 3 == 0 ? "very " : "") << words[stars] << " on day " << i
         << marks[i % 3] << '\t' << stars + 1 << '\t' << (stars > 2 ? "yes" : "no") << '\n';
  }
  return text.str();
}

void write_data(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

Arguments small(const std::string& data, const std::string& out, const Arguments& more = {}) {
  Arguments arguments = {"train", "--data", data, "--out", out};
  for (const char* setting : {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16",
                              "text.vocabulary=320", "training.epochs=2", "training.batch=32"}) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

constexpr const char* kKnobs =
    "model.knobs=[\"stars: scalar of column stars from 1 to 5\", \"kind: probability of column kind\", \"length: "
    "scalar "
    "of length from 4 to 10\", \"mark: distribution of final_mark over . ! ?\"]";

class Text : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    write_data(path("reviews.tsv"), starred_reviews(400));
    const ProcessResult result =
        semfuse_program(small(path("reviews.tsv"), path("model"), {"--set", kKnobs, "--quiet"}));
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string text_of(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  static json json_of(const Arguments& arguments) { return json::parse(text_of(arguments), nullptr, false); }

 private:
  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Text, IsGeneratedThroughTheTokenizer) {
  const std::string run = path("model");
  const std::string prompted = text_of({"generate", run, "--n", "3", "--prompt", "the café, naïvely"});
  EXPECT_THAT(prompted, StartsWith("the café, naïvely"));
  EXPECT_EQ(text_of({"generate", run, "--n", "3", "--prompt", "the café, naïvely", "--threads", "1"}), prompted);
  EXPECT_NE(text_of({"generate", run, "--n", "20"}),
            text_of({"generate", run, "--n", "20", "--knob", "stars=1", "--knob", "kind=0.1"}));
  const json line = json_of({"generate", run, "--prompt", "the food was", "--json"});
  EXPECT_THAT(line["text"].get<std::string>(), StartsWith("the food was"));
  expect_refused({"generate", run, "--knob", "stars=6"}, "from 1 to 5");
}

TEST_F(Text, IsTokenisedAsTheModelReadsIt) {
  const std::string text = "Our waiter, naïve and zany, was kind!";
  const json tokens = json_of({"tokenize", path("model"), text, "--json"});
  std::string joined;
  for (const json& piece : tokens["pieces"]) joined += piece.get<std::string>();
  EXPECT_THAT(joined, StartsWith("Our waiter, na"));
  write_data(path("tokens.json"), tokens.dump());
  const ProcessResult decoded = run_process(
      {"/bin/sh", "-c", SEMFUSE_BIN_DIR "/semfuse tokenize " + path("model") + " --decode <" + path("tokens.json")});
  EXPECT_EQ(decoded.exit_code, 0) << decoded.err;
  EXPECT_EQ(decoded.out, text);
}

TEST_F(Text, GrammarsWorkOverTokens) {
  write_data(path("g.gbnf"), "root ::= \"the \" (\"food\" | \"soup\") \" was \" [a-z]+ \".\"\n");
  const std::string text = text_of({"generate", path("model"), "--grammar", path("g.gbnf"), "--n", "5"});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, AllOf(StartsWith("the "), EndsWith("."), HasSubstr(" was "))) << line;
  }
}

TEST_F(Text, IsMeasuredInBitsAByte) {
  const json result = json_of({"evaluate", path("model"), "--json"});
  EXPECT_GT(result["bits_per_byte"].get<double>(), 0.05);
  EXPECT_LT(result["bits_per_byte"].get<double>(), 8.0);
  EXPECT_GT(result["texts"].get<int>(), 5);
  EXPECT_TRUE(result["floor_ppl"].is_null());
  EXPECT_EQ(result["tokenizer"], "words");
  EXPECT_THAT(text_of({"evaluate", path("model")}), HasSubstr("no entropy floor"));
  write_data(path("other.txt"), "the soup was bad!\nthe food was great.\n");
  EXPECT_EQ(json_of({"evaluate", path("model"), "--data", path("other.txt"), "--json"})["bytes"], 38);
  expect_refused({"evaluate", path("model"), "--seed", "7"}, "trained on files");
}

TEST_F(Text, IsMeasuredBesideAnNgramModel) {
  const json result = json_of({"evaluate", path("model"), "--against", "ngram", "--json"});
  const json& ngram = result["ngram"];
  EXPECT_EQ(ngram["order"], 5);
  EXPECT_GT(ngram["perplexity"].get<double>(), 1.0);
  EXPECT_NEAR(std::log(ngram["perplexity"].get<double>()) * result["positions"].get<double>() / std::log(2.0),
              ngram["bits_per_byte"].get<double>() * result["bytes"].get<double>(), 1e-6);
  EXPECT_EQ(ngram["model_wins"], result["ppl"].get<double>() < ngram["perplexity"].get<double>());
  EXPECT_FALSE(json_of({"evaluate", path("model"), "--json"}).contains("ngram"));
  EXPECT_THAT(text_of({"evaluate", path("model"), "--against", "ngram"}),
              AllOf(HasSubstr("model"), HasSubstr("5-gram wins"), HasSubstr("no entropy floor")));
  // Other texts, the same counts.
  write_data(path("elsewhere.txt"), "the soup was bad!\nthe food was great.\n");
  const json other =
      json_of({"evaluate", path("model"), "--data", path("elsewhere.txt"), "--against", "ngram", "--json"});
  EXPECT_EQ(other["ngram"]["tokens"], ngram["tokens"]);
  EXPECT_EQ(other["bytes"], 38);
  expect_refused({"evaluate", path("model"), "--against", "bigram"}, "use --against ngram");
}

TEST_F(Text, OtherCommandsKnowSuchModels) {
  const std::string run = path("model");
  EXPECT_THAT(text_of({"audit", run, "--sentences", "3"}), HasSubstr("reads only the past"));
  EXPECT_THAT(text_of({"verify", run}), Not(HasSubstr("DAMAGED")));
  EXPECT_THAT(text_of({"inspect", run}), AllOf(HasSubstr("reviews.tsv"), HasSubstr("Tokenizer")));
  EXPECT_THAT(text_of({"words", "list", run}), HasSubstr("food"));
  EXPECT_THAT(text_of({"sweep", run, "--knob", "length", "--levels", "2", "--n", "4"}), HasSubstr("length"));
  EXPECT_EQ(semfuse_program({"export", run, "--to", path("exported")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(path("exported/tokenizer.json")));
  expect_refused({"sweep", run, "--knob", "stars"}, "of a column");
  expect_refused({"compare", run, run}, "trained on files");
  write_data(path("new.tsv"), "word\tclass\tpolarity\nsuperb\tadjective\t1\n");
  expect_refused({"words", "add", run, "--lexicon", path("new.tsv"), "--out", path("more")}, "words can be added");
}

TEST_F(Text, PiecesAndBytesWorkToo) {
  for (const char* tokenizer : {"pieces", "bytes"}) {
    const std::string run = path(std::string("model-") + tokenizer);
    text_of(small(path("reviews.tsv"), run, {"--quiet", "--set", std::string("text.tokenizer=") + tokenizer}));
    EXPECT_EQ(json_of({"evaluate", run, "--json"})["tokenizer"], tokenizer);
    EXPECT_THAT(text_of({"generate", run, "--prompt", "the s"}), StartsWith("the s"));
  }
}

TEST_F(Text, ReadsEveryKindOfFile) {
  write_data(path("a.txt"), "one text\nanother text\na third one\n");
  write_data(path("b.jsonl"), "{\"text\": \"a fourth\\none\"}\n{\"text\": \"a fifth one\"}\n");
  write_data(path("v.csv"), "text,stars\n\"one, to \"\"measure\"\" with\",3\n");
  Arguments arguments = small(path("a.txt"), path("model-kinds"), {"--val", path("v.csv"), "--json"});
  arguments.insert(arguments.begin() + 3, path("b.jsonl"));
  EXPECT_EQ(json_of(arguments)["steps"], 2);
}

TEST_F(Text, TheSameDataForAnyNumberOfThreads) {
  const auto columns = [&](const char* threads) {
    const std::string cache = path(std::string("cache-") + threads);
    ::setenv("SEMFUSE_CACHE", cache.c_str(), 1);
    text_of(small(path("reviews.tsv"), path(std::string("threads-") + threads), {"--quiet", "--threads", threads}));
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
    std::string all;
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(cache)) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      std::ifstream stream(file, std::ios::binary);
      all += file.filename().string() + std::string(std::istreambuf_iterator<char>(stream), {});
    }
    return all;
  };
  const std::string one = columns("1");
  EXPECT_THAT(one, HasSubstr("columns.json"));
  EXPECT_EQ(columns("3"), one);
}

TEST_F(Text, IsResumedWithTheSameDataOnly) {
  write_data(path("changing.tsv"), starred_reviews(200));
  const std::string run = path("stopped");
  text_of(small(path("changing.tsv"), run, {"--quiet"}));
  EXPECT_THAT(text_of({"train", "--resume", run}), HasSubstr("nothing to resume"));
  write_data(path("changing.tsv"), starred_reviews(201));
  expect_refused({"train", "--resume", run}, "changed since it began");
}

TEST_F(Text, WhatCannotBeReadIsOneLine) {
  const std::string out = path("never");
  const auto refused = [&](const std::string& name, const std::string& text, const std::string& part,
                           const Arguments& more = {}) {
    write_data(path(name), text);
    expect_refused(small(path(name), out, more), part);
    EXPECT_FALSE(fs::exists(out)) << name;
  };
  refused("empty.txt", "", "empty.txt");
  refused("one.txt", "a single text\n", "--val");
  refused("stars.tsv", "text\tstars\ngood\t9\n", "stars.tsv:2: column stars says \"9\", which is not from 1 to 5",
          {"--set", "model.knobs=[\"stars: scalar of column stars from 1 to 5\"]"});
  refused("kinds.tsv", "text\tkind\ngood\tperhaps\n", "kinds.tsv:2: column kind says \"perhaps\"",
          {"--set", "model.knobs=[\"kind: probability of column kind\"]"});
  refused("columns.tsv", starred_reviews(20), "colour",
          {"--set", "model.knobs=[\"c: scalar of column colour from 1 to 5\"]"});
  expect_refused(small(path("missing.tsv"), out), "missing.tsv");
  expect_refused({"train", "--val", path("reviews.tsv"), "--out", out}, "add --data");
  expect_refused(small(path("reviews.tsv"), out, {"--preset", "semfuse"}), "preset text");
}

TEST_F(Text, RowsAtFaultAreLeftOutIfThatIsAskedFor) {
  write_data(path("faults.tsv"), starred_reviews(100) + "the soup\t9\tyes\n\xff\xfe\t3\tno\n");
  const ProcessResult result = semfuse_program(
      small(path("faults.tsv"), path("model-faults"), {"--quiet", "--set", kKnobs, "--set", "data.skip_bad=true"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("2 rows at fault were left out"));
}

TEST_F(Text, AModelCanBeGoneOnFrom) {
  write_data(path("more.tsv"), starred_reviews(100, 1000));
  const json before = json_of({"evaluate", path("model"), "--data", path("more.tsv"), "--json"});
  std::filesystem::copy(path("model"), path("first"), std::filesystem::copy_options::recursive);
  const ProcessResult result =
      semfuse_program({"train", "--init", path("first"), "--data", path("more.tsv"), "--set", "training.epochs=4",
                       "--set", "training.batch=16", "--out", path("model2"), "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::filesystem::remove_all(path("first"));  // A run stands alone.
  EXPECT_THAT(Process::text(path("model2") + "/config.toml"), HasSubstr("init = \"init.safetensors\""));
  const json after = json_of({"evaluate", path("model2"), "--data", path("more.tsv"), "--json"});
  EXPECT_LT(after["bits_per_byte"].get<double>(), before["bits_per_byte"].get<double>());
  EXPECT_EQ(after["vocabulary"], before["vocabulary"]);
  EXPECT_THAT(text_of({"train", "--resume", path("model2")}), HasSubstr("nothing to resume"));
  EXPECT_THAT(text_of({"verify", path("model2")}), Not(HasSubstr("DAMAGED")));
  std::filesystem::resize_file(path("model2") + "/init.safetensors", 100);
  const ProcessResult damaged = semfuse_program({"verify", path("model2")});
  EXPECT_NE(damaged.exit_code, 0);
  EXPECT_THAT(damaged.out, HasSubstr("init.safetensors"));
  expect_refused(
      {"train", "--init", path("model"), "--data", path("more.tsv"), "--set", "model.width=8", "--out", path("never")},
      "leave it out");
  expect_refused({"train", "--init", path("nothing"), "--data", path("more.tsv"), "--out", path("never")}, "nothing");
}

TEST_F(Text, PromptsComeFromStandardInput) {
  const std::string one = text_of({"generate", path("model"), "--prompt", "the soup", "--n", "2"});
  const std::string other = text_of({"generate", path("model"), "--prompt", "my room", "--n", "2"});
  write_data(path("prompts.txt"), "the soup\nmy room\n");
  const ProcessResult result = run_process(
      {"/bin/sh", "-c",
       std::string(SEMFUSE_BIN_DIR) + "/semfuse generate " + path("model") + " --stdin --n 2 <" + path("prompts.txt")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, one + other);
  expect_refused({"generate", path("model"), "--stdin", "--prompt", "x"}, "leave one out");
}

TEST_F(Text, LongTextsAreSplitOrCut) {
  std::string texts;
  for (int i = 0; i < 60; ++i) texts += "a text of number " + std::to_string(i) + " that goes on and on and on\n";
  write_data(path("long.txt"), texts);
  for (const char* rule : {"split", "cut"}) {
    const std::string run = path(std::string("long-") + rule);
    const ProcessResult result = semfuse_program(small(
        path("long.txt"), run, {"--quiet", "--set", "data.max_length=6", "--set", std::string("data.longer=") + rule}));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr(std::string("60 of 60 texts are longer than data.max_length = 6 tokens and were ") + rule));
    const json measured = json_of({"evaluate", run, "--json"});
    EXPECT_TRUE(std::isfinite(measured["bits_per_byte"].get<double>()));
  }
}

// What nobody says follows from the file; `steps` ends a training amid an epoch.
TEST(TextTraining, ChoosesTokensByTheFile) {
  const TemporaryFolder folder;
  std::string texts;
  for (int i = 0; i < 400; ++i) texts += "the soup number " + std::to_string(i) + " was good\n";
  write_data(folder / "texts.txt", texts);
  const auto config = [&](const std::string& run, const Arguments& more) {
    Arguments arguments = {"train", "--data", folder / "texts.txt", "--out", folder / run, "--quiet"};
    for (const char* setting : {"model.width=16", "model.layers=1", "model.heads=2", "training.steps=3"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_text((folder / run) + "/config.toml", 1 << 20);
  };
  const std::string chosen = config("chosen", {});
  EXPECT_THAT(chosen, HasSubstr("\ntokenizer = \"pieces\""));
  EXPECT_THAT(chosen, HasSubstr("\nvocabulary = 1000 "));
  EXPECT_THAT(chosen, HasSubstr("\nsteps = 3 "));
  EXPECT_THAT(config("said", {"--set", "text.tokenizer=words"}), HasSubstr("\nvocabulary = 8000 "));
  EXPECT_THAT(config("preset", {"--preset", "text"}), HasSubstr("\ntokenizer = \"words\""));
}

}  // namespace
}  // namespace semfuse
