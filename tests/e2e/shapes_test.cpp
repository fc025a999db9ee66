// Files of shapes and languages that the program was not made for: without headings, without endings, with labels of
// any kind, from one command to a model with knobs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "semfuse_program.h"

namespace semfuse {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

// A topic as a number, an author, a mark from 0 to 10 that some rows lack, and a text.
std::string news(std::size_t first, std::size_t count) {
  const std::vector<std::string> things = {"The team", "A bank", "Our planet", "The new phone"};
  std::string rows;
  for (std::size_t i = first; i < first + count; ++i) {
    rows += fmt::format("{}\t{}\t{}\t{} {} on day {}{}\n", i % 4 + 1, i % 2 == 0 ? "Ann Lee" : "Bob",
                        i % 7 == 0 ? "" : fmt::format("{}", i % 11), things[i % 4], i % 3 == 0 ? "lost" : "won again",
                        i, i % 5 == 0 ? "!" : ".");
  }
  return rows;
}

class Shapes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("SEMFUSE_CACHE", path("cache").c_str(), 1);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string path(const std::string& name) { return *folder_ / name; }
  static std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  static std::string text_of(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static Arguments training(const std::string& data, const std::string& out, const Arguments& more = {}) {
    Arguments arguments = {"train", "--data", data, "--out", path(out), "--quiet"};
    for (const char* setting : {"training.epochs=1", "training.batch=32", "text.vocabulary=300"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static Arguments small(const std::string& data, const std::string& out, const Arguments& more = {}) {
    Arguments arguments = training(data, out, more);
    for (const char* setting : {"model.width=16", "model.layers=1", "model.heads=2", "model.feed_forward=16"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    return arguments;
  }
  static std::string run(const Arguments& arguments) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << testing::PrintToString(arguments) << result.err;
    return result.out;
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

TEST_F(Shapes, TrainTakesWhatDescribeTakesAndColumnsBecomeKnobs) {
  const std::string file = write("news.data", news(0, 200));
  const Arguments how = {"--format", "tsv", "--heading", "topic,author,mark,story"};
  Arguments describe = {"data", "describe", file, "--json", "--out", path("news.toml")};
  describe.insert(describe.end(), how.begin(), how.end());
  const json description = json::parse(run(describe));
  EXPECT_EQ(description["text_column"], "story");
  run(small(file, "news", how));
  const std::string config = text_of(path("news/config.toml"));
  EXPECT_THAT(config,
              AllOf(HasSubstr("format = \"tsv\""), HasSubstr("heading = [\"topic\", \"author\", \"mark\", \"story\"]"),
                    HasSubstr("topic: distribution of column topic over 1, 2, 3, 4"),
                    HasSubstr("author: distribution of column author over Ann Lee, Bob"),
                    HasSubstr("mark_2: scalar of column mark from 0 to 10")));
  for (const char* knob : {"topic=1:1", "topic=2:0.5,3:0.5", "author=Ann Lee", "mark_2=7.5"}) {
    EXPECT_NE(run({"generate", path("news"), "--n", "2", "--knob", knob}), "") << knob;
  }
  // Other files are read as those of the run; the same in a run that goes on, or goes on from it.
  const std::string more = write("more.data", news(200, 60));
  EXPECT_EQ(json::parse(run({"evaluate", path("news"), "--data", more, "--json"}))["texts"], 60);
  run(training(more, "later", {"--init", path("news"), "--set", "data.val_share=0.2"}));
  EXPECT_THAT(text_of(path("later/config.toml")), HasSubstr("heading = [\"topic\", \"author\", \"mark\", \"story\"]"));
  run({"train", "--resume", path("news")});
  EXPECT_EQ(json::parse(run({"evaluate", path("news"), "--data", write("named.csv", "who,said\nme,it is so\n"),
                             "--json", "--format", "csv", "--heading", "who,said", "--text", "said"}))["texts"],
            2);
  // The draft trains too.
  run({"train", "--config", path("news.toml"), "--out", path("drafted"), "--quiet", "--set", "model.width=8", "--set",
       "model.layers=1", "--set", "model.heads=2", "--set", "training.epochs=1"});
  Arguments induce = {"lexicon", "induce",      "--data", file,    "--label",
                      "mark",    "--min-count", "1",      "--out", path("l.tsv")};
  induce.insert(induce.end(), how.begin(), how.end());
  const ProcessResult induced = semfuse_program(induce);
  EXPECT_THAT(induced.exit_code == 0 ? "" : induced.err,
              testing::AnyOf("", HasSubstr("no word is surely of one side")));
}

TEST_F(Shapes, WhichColumnsBecomeKnobsCanBeSaid) {
  const std::string file = write("news.tsv", "topic\tauthor\tmark\tstory\n" + news(0, 100));
  run(small(file, "one", {"--set", "data.labels=author"}));
  EXPECT_THAT(text_of(path("one/config.toml")),
              AllOf(HasSubstr("knobs = [\"author: dis"), Not(HasSubstr("topic: dis"))));
  run(small(file, "none", {"--set", "model.knobs=[]"}));
  expect_refused({"generate", path("none"), "--knob", "topic=1:1"}, "knob");
  run(training(file, "none-again", {"--init", path("none")}));
  expect_refused(small(file, "x", {"--set", "data.labels=autor"}), "did you mean \"author\"?");
  expect_refused(small(file, "x", {"--set", "data.labels=story"}), "data.labels names \"story\", which is no column");
  // A text a line has no columns.
  run(small(write("plain.txt", news(0, 60)), "plain"));
  EXPECT_THAT(text_of(path("plain/config.toml")), HasSubstr("knobs = []"));
}

TEST_F(Shapes, MoreColumnsThanKnobsMayBe) {
  std::string rows = "text\ta\tb\tc\td\te\tf\tg\th\ti\n";
  for (int i = 0; i < 60; ++i) {
    rows += fmt::format("text number {}", i);
    for (int c = 0; c < 9; ++c) rows += fmt::format("\t{}", (i + c) % 3);
    rows += '\n';
  }
  Arguments arguments = small(write("wide.tsv", rows), "wide");
  arguments.erase(std::find(arguments.begin(), arguments.end(), "--quiet"));
  const ProcessResult result = semfuse_program(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("more than 8 columns could be knobs, so i is not one; choose with --set data.labels"));
}

TEST_F(Shapes, MistakesAreOneLineThatSaysWhatToDo) {
  const std::string file = write("bare.tsv", news(0, 50));
  expect_refused(small(file, "x"), "\"1\" is a number; name the 4 columns with --heading NAME,NAME,NAME,NAME");
  expect_refused(small(file, "x", {"--heading", "topic,story"}),
                 "bare.tsv:1: has 4 cells, and --heading names 2 columns");
  expect_refused(small(file, "x", {"--heading", "topic,,story"}), "--heading has an empty name");
  expect_refused(small(file, "x", {"--heading", "a,b,c,c"}), "names the column \"c\" twice");
  expect_refused(small(file, "x", {"--heading", "a,b,c,d", "--text", "e"}), "has no column \"e\"");
  expect_refused(small(file, "x", {"--format", "tsb"}), "\"tsb\" is no format of data");
  expect_refused(small(file, "x", {"--set", "data.format=xml"}), "data.format is \"xml\"; it must be \"txt\"");
  expect_refused(small(write("bare", news(0, 50)), "x"), "bare: its name does not say what it holds; say --format");
  expect_refused(small(write("a.zip", "PK\x03\x04\x14"), "x", {"--format", "txt"}),
                 "a.zip: is an archive (zip); unpack it");
  for (const char* option : {"--heading", "--format", "--text"}) {
    expect_refused({"train", "--out", path("x"), option, "tsv"},
                   fmt::format("{} says how the files of --data", option));
  }
  expect_refused(small(write("pairs.tsv", "Hi.\tHallo!\nRun!\tLauf doch!\n"), "x"), "reads like a text: \"Hallo!\"");
  EXPECT_FALSE(fs::exists(path("x")));
}

TEST_F(Shapes, OtherLanguagesAreTextsLikeAnyOther) {
  const std::vector<std::string> words = {"Grüße",  "straße", "où",     "garçon", "¿Qué",
                                          "mañana", "Ελλάδα", "привет", "日本語", "🙂"};
  std::string rows = "id\tSatz\tlaune\n";
  for (std::size_t i = 0; i < 200; ++i) {
    rows += fmt::format("r{}\t{} {} «{}» ist {}…\t{}\n", i, words[i % 10], words[i * 3 % 10], words[i * 7 % 10], i,
                        i % 2 == 0 ? "schön" : "traurig");
  }
  const std::string file = write("satz.tsv", rows);
  for (const char* tokenizer : {"words", "pieces", "bytes"}) {
    const std::string out = fmt::format("satz-{}", tokenizer);
    run(small(file, out, {"--preset", "text-features", "--set", fmt::format("text.tokenizer={}", tokenizer)}));
    EXPECT_NE(run({"generate", path(out), "--n", "3", "--knob", "laune=schön"}), "");
    const std::string text = "¿Où est la straße, mañana? 日本語 «é» 🙂 e\xCC\x81";
    EXPECT_THAT(run({"features", "--model", path(out), text}), HasSubstr("proper_noun"));
    const json tokens = json::parse(run({"tokenize", path(out), text, "--json"}));
    write("ids.json", tokens.dump());
    const ProcessResult decoded = run_process(
        {"/bin/sh", "-c",
         fmt::format("'{}/semfuse' tokenize '{}' --decode < '{}'", SEMFUSE_BIN_DIR, path(out), path("ids.json"))});
    EXPECT_EQ(decoded.out, text) << decoded.err;
  }
  EXPECT_THAT(text_of(path("satz-words/config.toml")),
              HasSubstr("laune: distribution of column laune over schön, traurig"));
}

TEST_F(Shapes, LabelsAreNeverMarkupOrEscapes) {
  const std::string script = "<script>alert(1)</script>";
  std::string rows = "text\tkind\t<b>tag</b>\n";
  for (int i = 0; i < 100; ++i) {
    rows += fmt::format("a text of day {} {}\t{}\t{}\n", i, i % 2 == 0 ? "." : "!", i % 2 == 0 ? script : "<b>",
                        i % 3 == 0 ? "\x1b[31mred"
                                   : "\xE2\x80\xAE"
                                     "back");
  }
  const std::string file = write("evil.tsv", rows);
  const Arguments knobs = {"--set",
                           fmt::format("model.knobs=[\"mark: distribution of final_mark over . ! {}\", \"kind: "
                                       "distribution of column kind over <b>, {}\"]",
                                       script, script)};
  run(small(file, "evil-auto"));
  run(small(file, "evil", knobs));
  const ProcessResult shown = semfuse_program({"sweep", path("evil"), "--n", "5", "--out", path("pages")});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  std::vector<std::string> texts = {shown.out, shown.err};
  for (const char* name : {"report.html", "mark.svg", "table.md"}) {
    texts.push_back(text_of(path("pages/" + std::string(name))));
    EXPECT_THAT(texts.back(), AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")))) << name;
  }
  texts.push_back(text_of(path("pages/results.json")));
  for (const std::string& knob : {fmt::format("kind={}:1", script), std::string("kind=<b>:1")}) {
    texts.push_back(run({"generate", path("evil"), "--n", "1", "--knob", knob}));
  }
  for (const std::string& text : texts) {
    EXPECT_EQ(text.find_first_of("\x1b\x07"), std::string::npos);
    EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  }
}

}  // namespace
}  // namespace semfuse
