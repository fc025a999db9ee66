// data describe and lexicon induce.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "e2e/semfuse_program.h"
#include "support/packed.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

class Data : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string reviews() {
    std::string text = "text\tstars\n";
    for (int i = 0; i < 400; ++i) {
      text += fmt::format("dish {} was {}{}\t{}\n", i, i % 2 == 0 ? "lovely" : "awful", i % 4 == 0 ? '!' : '.',
                          i % 2 == 0 ? 4 + i % 4 / 2 : 1);
    }
    return text;
  }
  TemporaryFolder folder_;
};

TEST_F(Data, DescribeSaysWhatIsThere) {
  const std::string path = file("reviews.tsv.gz", gzipped(reviews() + "only one cell\n\nbad \xFF bytes\t3\n"));
  const ProcessResult text = semfuse_program({"data", "describe", path});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("column text, by its name"));
  EXPECT_THAT(text.out, testing::ContainsRegex("stars +number +400 +1 to 5: 1 \\(200\\)"));
  EXPECT_THAT(text.out, HasSubstr("reviews.tsv.gz:402: has 1 cell"));
  EXPECT_THAT(text.out, HasSubstr("not UTF-8: 1 row"));
  EXPECT_THAT(text.out, HasSubstr("\n  stars: scalar of column stars from 1 to 5\n"));
  EXPECT_THAT(text.out, HasSubstr("\n  mark: distribution of final_mark over . !\n"));
  std::istringstream lines(text.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(path) == line.npos) {
      EXPECT_LE(line.size(), 80U) << line;
    }
  }
  const ProcessResult result = semfuse_program({"data", "describe", path, "--json"});
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["texts"], 400);
  EXPECT_EQ(json["empty"], 1);
  EXPECT_EQ(json["faults"].size(), 2U);
  EXPECT_EQ(json["columns"][0]["values"][0]["count"], 200);
  EXPECT_EQ(json["length"]["median"], 5);
}

TEST_F(Data, DescribeWritesAConfigurationOnce) {
  const std::string path = file("reviews.tsv", reviews());
  const ProcessResult result = semfuse_program({"data", "describe", path, "--out", folder_ / "my.toml"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Process::text(folder_ / "my.toml"), HasSubstr("\"stars: scalar of column stars from 1 to 5\""));
  expect_refused({"data", "describe", path, "--out", folder_ / "my.toml"}, "my.toml: is already there");
}

TEST_F(Data, TheConfigurationThatDescribeWritesTrains) {
  std::string rows = "text\tstars\n";
  for (int i = 0; i < 60; ++i) rows += fmt::format("text number {} is fine\t{}\n", i, i % 5 + 1);
  const std::string path = file("rows.tsv", rows), draft = folder_ / "draft.toml", run = folder_ / "run";
  ::setenv("SEMFUSE_CACHE", std::string(folder_ / "cache").c_str(), 1);
  ASSERT_EQ(semfuse_program({"data", "describe", path, "--out", draft}).exit_code, 0);
  const ProcessResult result =
      semfuse_program({"train", "--config", draft, "--out", run, "--quiet", "--set", "model.width=8", "--set",
                       "model.heads=2", "--set", "training.epochs=1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(Process::text(run + "/config.toml"), HasSubstr("attention = \"causal\""));
}

TEST_F(Data, NothingInAFileReachesTheTerminalAsAnEscape) {
  std::string evil = "text\tla\x1b[31mbel\n";
  for (int i = 0; i < 20; ++i)
    evil += fmt::format("a \x1b]0;x\x07 text\t{}\n", i % 2 == 0 ? "\x1b[2J" : "\xE2\x80\xAE<b>");
  const std::string path = file("evil.tsv", evil + "x\x1b[2J\xFF\ty\n");
  for (const Arguments& arguments : {Arguments{"data", "describe", path}, {"data", "describe", path, "--json"}}) {
    const ProcessResult result = semfuse_program(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out.find_first_of("\x1b\x07"), std::string::npos);
    EXPECT_EQ(result.out.find("\xE2\x80\xAE"), std::string::npos);
  }
}

TEST_F(Data, RefusesWhatCannotBeRead) {
  expect_refused({"data", "describe", folder_ / "absent.tsv"}, "absent.tsv: cannot open");
  expect_refused({"data", "describe", file("a.neg", "x")}, "its name does not say what it holds");
  EXPECT_EQ(semfuse_program({"data", "describe", folder_ / "a.neg", "--format", "txt"}).exit_code, 0);
  expect_refused({"data", "describe", file("empty.txt", "")}, "empty.txt: is empty");
  expect_refused({"data", "describe", file("cut.txt.gz", gzipped("some text").substr(0, 20))}, "ends in the middle");
  expect_refused({"data", "describe", file("none.csv", "3,good\n")}, "is a number; name the 2 columns with --heading");
  EXPECT_EQ(semfuse_program({"data", "describe", folder_ / "none.csv", "--heading", "label,text"}).exit_code, 0);
  expect_refused({"data", "describe", file("t.tsv", "a\tb\nx\ty\n"), "--text", "c"}, "no column \"c\"");
}

TEST_F(Data, SaysWhyAColumnIsNoKnob) {
  std::string text = "text\tgenre\n";
  for (int i = 0; i < 60; ++i) text += "some text " + std::to_string(i) + (i % 2 == 0 ? "\tdrama, war\n" : "\twar\n");
  const std::string path = file("genres.tsv", text);
  const std::string why = "its label \"drama, war\" holds a comma";
  EXPECT_THAT(semfuse_program({"data", "describe", path}).out, HasSubstr("genre: " + why));
  const ProcessResult trained = semfuse_program({"train", "--data", path, "--out", folder_ / "out", "--set",
                                                 "model.width=8", "--set", "model.layers=1", "--set", "model.heads=2",
                                                 "--set", "model.feed_forward=8", "--set", "training.epochs=1"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("column \"genre\" is no knob: " + why));
}

TEST_F(Data, LexiconIsInducedFromLabels) {
  const std::string path = file("reviews.tsv", reviews());
  const std::string out = folder_ / "polarity.tsv";
  const ProcessResult result = semfuse_program({"lexicon", "induce", "--data", path, "--label", "stars", "--out", out});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the sum of polarities is right in 100.0 %"));
  const std::string lexicon = Process::text(out);
  EXPECT_THAT(lexicon, testing::ContainsRegex("\nlovely\tword\t0\\.[0-9]+\t[0-9]+\t0\n"));
  // What else reads lexicons reads it.
  EXPECT_EQ(semfuse_program({"features", "--lexicon", out, "a lovely dish!"}).exit_code, 0);
  expect_refused({"lexicon", "induce", "--data", path, "--label", "stars", "--out", out}, "is already there");
  expect_refused({"lexicon", "induce", "--data", path, "--label", "star", "--out", folder_ / "b.tsv"},
                 "did you mean \"stars\"?");
  const ProcessResult json =
      semfuse_program({"lexicon", "induce", "--data", path, "--label", "stars", "--out", folder_ / "c.tsv", "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["held_out_right"], 1.0);
}

}  // namespace
}  // namespace semfuse
