#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/semfuse_program.h"
#include "io/quoted_text.h"
#include "semfuse/feature_bank.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

constexpr const char* kSentence = "Alice reviews the paper, very good!";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(FeaturesCommand, PrintsAnAlignedTable) {
  const ProcessResult result = semfuse_program({"features", kSentence});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const FeatureBank bank(synthetic_lexicon());
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), bank.size() + 1);
  EXPECT_THAT(lines[0], testing::MatchesRegex(" +<bos> +Alice +reviews +the +paper +, +very +good +! +<eos>"));
  for (std::size_t f = 0; f < bank.size(); ++f) {
    EXPECT_THAT(lines[f + 1], testing::StartsWith(bank.names()[f]));
    EXPECT_EQ(lines[f + 1].size(), lines[0].size());
    EXPECT_LE(lines[f + 1].size(), 80U);
  }
  EXPECT_THAT(lines[2], testing::MatchesRegex("is_verb +\\. +\\. +1\\.00 .*"));
  EXPECT_THAT(result.out, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(FeaturesCommand, TheLongestClauseFitsATerminal) {
  const ProcessResult result = semfuse_program({"features", "Carol finishes the project, moderately unpleasant."});
  for (const std::string& line : lines_of(result.out)) EXPECT_LE(line.size(), 80U);
}

TEST(FeaturesCommand, JsonIsTheMatrix) {
  const ProcessResult result = semfuse_program({"features", "--json", "--set", "features.kernel_base=0.5", kSentence});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json json = nlohmann::json::parse(result.out);
  const FeatureBank bank(synthetic_lexicon(), {.kernel_base = 0.5});
  const FeatureMatrix matrix = bank.rows(split_words(kSentence));
  EXPECT_EQ(json["features"], nlohmann::json(bank.names()));
  ASSERT_EQ(json["tokens"].size(), matrix.num_rows);
  EXPECT_EQ(json["tokens"][0], "<bos>");
  ASSERT_EQ(json["matrix"].size(), matrix.num_rows);
  for (std::size_t t = 0; t < matrix.num_rows; ++t) {
    ASSERT_EQ(json["matrix"][t].size(), bank.size());
    for (std::size_t f = 0; f < bank.size(); ++f) EXPECT_EQ(json["matrix"][t][f].get<float>(), matrix.row(t)[f]);
  }
}

TEST(FeaturesCommand, BracketsAreText) {
  const auto tokens = [](const Arguments& arguments) {
    return nlohmann::json::parse(semfuse_program(arguments).out)["tokens"];
  };
  EXPECT_EQ(tokens({"features", "--json", "[Alice,Bob]"}).size(), tokens({"features", "--json", "(Alice,Bob)"}).size());
  EXPECT_EQ(tokens({"features", "--json", "[Alice]"})[1], "[Alice]");
  EXPECT_EQ(tokens({"features", "--json", "Alice", "reviews"}).size(), 4u);
}

TEST(FeaturesCommand, NamesUnknownWordsAndGoesOn) {
  const ProcessResult result = semfuse_program({"features", "Zoë reviews the flurb, flurb."});
  EXPECT_EQ(result.exit_code, 0);
  expect_one_error_line(result, R"(the lexicon lacks "Zoë", "flurb"; they count as other)");
  const std::vector<std::string> lines = lines_of(result.out);
  ASSERT_GT(lines.size(), 2U);
  EXPECT_EQ(lines[0].size(), lines[1].size() + 1) << "ë is two bytes in one column";
}

TEST(FeaturesCommand, BytesThatAreNoTextDoNoHarm) {
  const ProcessResult table = semfuse_program({"features", "Alice \xff\x1b[31m"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, testing::Not(testing::HasSubstr("\x1b")));
  const ProcessResult json = semfuse_program({"features", "--json", "Alice \xff"});
  EXPECT_TRUE(nlohmann::json::accept(json.out));
}

TEST(FeaturesCommand, ShowsAnySentence) {
  const ProcessResult result = semfuse_program({"features", "--json", "She didn't walk to the old station, did she?"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const nlohmann::json json = nlohmann::json::parse(result.out);
  EXPECT_THAT(json["tokens"].get<std::vector<std::string>>(),
              testing::ElementsAre("<bos>", "She", "didn't", "walk", "to", "the", "old", "station", ",", "did", "she",
                                   "?", "<eos>"));
  const std::vector<std::string> names = json["features"];
  const auto value = [&](std::size_t token, const char* name) {
    const auto column = std::find(names.begin(), names.end(), name) - names.begin();
    return json["matrix"][token][static_cast<std::size_t>(column)].get<double>();
  };
  EXPECT_EQ(value(2, "negation"), 1.0);
  EXPECT_EQ(value(2, "past"), 1.0);
  EXPECT_EQ(value(3, "negated"), 1.0);
  EXPECT_EQ(value(6, "adjective"), 1.0);
  EXPECT_EQ(value(11, "question_mark"), 1.0);
}

TEST(FeaturesCommand, ABankOfOnesOwn) {
  const TemporaryFolder folder;
  const std::string bank = (folder.path() / "my.bank").string();
  std::ofstream(bank) << "loud: is upper | words !\n";
  const ProcessResult result = semfuse_program({"features", "--bank", bank, "--json", "NASA works!"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["matrix"], nlohmann::json::parse("[[0],[1],[0],[1],[0]]"));
  std::ofstream(bank) << "loud: is uper\n";
  expect_refused({"features", "--bank", bank, "NASA"}, "my.bank:1: a word is one of");
  expect_refused({"features", "--bank", "nowhere", "NASA"}, "nowhere");
  expect_refused({"features", "--bank", "english", " "}, "the sentence is empty");
}

TEST(FeaturesCommand, Refusals) {
  expect_refused({"features", ""}, "the sentence is empty");
  expect_refused({"features", " \t\n"}, "the sentence is empty");
  expect_refused({"features", "--set", "model.width=8", "Alice"}, "only features.* keys");
  expect_refused({"features", "--set", "features.kernal_base=0.5", "Alice"}, "did you mean \"features.kernel_base\"?");
  expect_refused({"features", "--set", "features.bandwidth=-1", "Alice"}, "features.bandwidth");
}

}  // namespace
}  // namespace semfuse
