#include "data/data_description.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/distinct_texts.h"
#include "data/knob_proposals.h"
#include "data/text_hash.h"
#include "data/word_scan.h"
#include "semfuse/error.h"
#include "semfuse/knobs.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Describe : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  DataDescription of(const std::string& name, const std::string& bytes, const DescribeOptions& options = {}) {
    return describe_data({file(name, bytes)}, options);
  }
  static std::vector<std::string> knobs(const DataDescription& data) {
    std::vector<std::string> knobs;
    for (const KnobProposal& knob : data.knobs) knobs.push_back(knob.knob);
    return knobs;
  }
  TemporaryFolder folder_;
};

std::string labelled_rows() {
  std::string text = "id\ttext\tstars\ttopic\tlabel\tscore\tnote\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("{}\ttext number {} {}\t{}\t{}\t{}\t{}\tnote {} of these\n", 100 + i, i % 150,
                        i % 2 == 0 ? '!' : '.', 1 + i % 5,
                        i % 3 == 0   ? "world news"
                        : i % 3 == 1 ? "food"
                                     : "sport",
                        i % 4 == 0 ? "neg" : "pos", 0.123456 + i, i);
  }
  return text;
}

TEST_F(Describe, CountsTextsAndTheirLengths) {
  const DataDescription data =
      of("a.txt", "one two three.\n\none two three.\nfour!\nwhat\xFF\n \nlonger: it's a well-made one?\n");
  EXPECT_EQ(data.texts, 4U);
  EXPECT_EQ(data.empty, 2U);
  EXPECT_EQ(data.repeated, 1U);
  EXPECT_TRUE(data.repeated_exact);
  EXPECT_EQ(data.text_bytes, 14U * 2 + 5 + 29);
  EXPECT_EQ(data.lengths.quantile(0.0), 2U);
  EXPECT_EQ(data.lengths.quantile(0.5), 4U);
  EXPECT_EQ(data.lengths.quantile(1.0), 7U);
  EXPECT_DOUBLE_EQ(data.lengths.mean(), (4 + 4 + 2 + 7) / 4.0);
  EXPECT_THAT(data.final_marks, ElementsAre(2, 1, 1));
  ASSERT_EQ(data.faults.size(), 1U);
  EXPECT_EQ(data.faults[0].kind, RowFault::Kind::not_utf8);
  EXPECT_THAT(data.faults[0].first, ElementsAre(HasSubstr("a.txt:5: byte 5 is not UTF-8")));
  EXPECT_TRUE(data.columns.empty());
}

TEST_F(Describe, TellsColumnsApart) {
  const DataDescription data = of("a.tsv", labelled_rows());
  EXPECT_EQ(data.text_column.name, "text");
  EXPECT_EQ(data.repeated, 50U);
  std::vector<std::string> kinds;
  for (const ColumnSummary& column : data.columns) {
    kinds.push_back(fmt::format("{} {}", column.name(), to_string(column.kind())));
  }
  EXPECT_THAT(kinds,
              ElementsAre("id number", "stars number", "topic label", "label label", "score number", "note text"));
  EXPECT_EQ(data.columns[1].low(), 1.0);
  EXPECT_EQ(data.columns[1].high(), 5.0);
  EXPECT_TRUE(data.columns[1].whole());
  EXPECT_THAT(data.columns[3].values(), ElementsAre(testing::Pair("pos", 150U), testing::Pair("neg", 50U)));
  EXPECT_TRUE(data.columns[0].values().empty());
  EXPECT_THAT(knobs(data),
              ElementsAre("stars: scalar of column stars from 1 to 5",
                          "topic: distribution of column topic over food, sport, world news",
                          "label: probability of column label", "score: scalar of column score from 0 to 200",
                          "mark: distribution of final_mark over . !"));
}

TEST_F(Describe, JoinsSeveralFilesByTheNamesOfColumns) {
  std::string objects;
  for (int i = 0; i < 10; ++i)
    objects += fmt::format("{{\"body\": \"text {}\", \"ok\": {}, \"list\": []}}\n", i, i % 2 == 0);
  const auto a = file("a.jsonl", objects);
  const auto b = file("b.csv", "ok,body\ntrue,\"x, y\"\n");
  std::vector<std::uint64_t> totals;
  const DataDescription data = describe_data({a, b});
  EXPECT_EQ(data.files.size(), 2U);
  EXPECT_EQ(data.files[1].texts, 1U);
  ASSERT_EQ(data.columns.size(), 2U);
  EXPECT_EQ(data.columns[0].filled(), 11U);
  EXPECT_EQ(data.columns[1].kind(), ColumnKind::nested);
  EXPECT_THAT(knobs(data), testing::Contains("ok: probability of column ok"));
  EXPECT_THROW(describe_data({a, file("c.tsv", "text\nx\n")}), Error);
  EXPECT_THROW(describe_data({file("d.txt", "")}), Error);
  EXPECT_THROW(describe_data({}), Error);
}

TEST_F(Describe, HostileNamesAndLabelsBecomeNoKnobs) {
  std::string text = "text\tmany, many\tevil\"]\tlab\n";
  for (int i = 0; i < 20; ++i)
    text += fmt::format("some text\t{}\t{}\t{}\n", i % 3, i % 3, i % 2 == 0 ? "a,b" : "c\x1b[31m");
  EXPECT_TRUE(knobs(of("a.tsv", text)).empty());
}

TEST_F(Describe, SaysWhyAColumnIsNoKnob) {
  std::string text = "text\tgenre\ta,b\tplain\thuge\ttiny\n";
  for (int i = 0; i < 30; ++i) {
    text += fmt::format("some text\t{}\t{}\t{}\t{}\t{}e-310\n", i % 2 == 0 ? "drama, war" : "war",
                        i % 2 == 0 ? "x" : "y", i % 2 == 0 ? "x=1:a" : "y", i % 2 == 0 ? "1e300" : "-1e300", i % 3 + 1);
  }
  const DataDescription data = of("a.tsv", text);
  EXPECT_THAT(knobs(data), ElementsAre("plain: distribution of column plain over x=1:a, y"));
  std::vector<std::string> why;
  for (const ColumnFault& fault : column_faults(data)) why.push_back(fault.column + ": " + fault.why);
  EXPECT_THAT(why, ElementsAre("genre: its label \"drama, war\" holds a comma", "a,b: its name holds a comma",
                               HasSubstr("huge: a model cannot tell"), HasSubstr("tiny: a model cannot tell")));
}

TEST_F(Describe, AFirstLookReadsNoMore) {
  std::string text = "text\tkind\n";
  for (int i = 0; i < 100'000; ++i) text += "some text\tgood\n";
  const auto path = file("a.tsv", text);
  const DataDescription look = describe_data({path}, {.columns_only = true, .most_bytes = 1});
  EXPECT_EQ(look.columns.at(0).filled(), 1U);
}

TEST_F(Describe, NoticesTablesThatAreCalledText) {
  EXPECT_TRUE(of("a.txt", "Hi.\tHallo!\nGo.\tGeh!\n").tabs_in_lines);
  EXPECT_FALSE(of("b.txt", "Hi.\tHallo!\nGo.\n").tabs_in_lines);
  EXPECT_FALSE(of("c.tsv", "text\tb\nHi.\tHallo!\n").tabs_in_lines);
}

TEST_F(Describe, NumbersThatStandForNamesBecomeLabels) {
  std::string text = "text\ttopic\tstars\tGold Label\tsubtype\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("some text {}\t{}\t{}\t{}\t{}\n", i, i % 4 + 1, i % 5, i % 3, i % 3);
  EXPECT_THAT(knobs(of("a.tsv", text)), ElementsAre("topic: distribution of column topic over 1, 2, 3, 4",
                                                    "stars: scalar of column stars from 0 to 4",
                                                    "gold_label: distribution of column \"Gold Label\" over 0, 1, 2",
                                                    "subtype: scalar of column subtype from 0 to 2"));
}

TEST_F(Describe, LabelsThatNoKnobTakesBecomeNone) {
  std::string text = "text\twhat\tlabel\n";
  for (int i = 0; i < 20; ++i)
    text += fmt::format("some text {}\t{}\t{}\n", i, i % 2 == 0 ? std::string(70, 'x') : "b", i % 2 == 0 ? "a" : "b");
  EXPECT_THAT(knobs(of("a.tsv", text)), ElementsAre("label: distribution of column label over a, b"));
}

TEST_F(Describe, TheDraftSaysHowToReadAndHasAsManyKnobsAsThereMayBe) {
  std::string rows;
  for (int i = 0; i < 30; ++i) {
    rows += fmt::format("some text {}", i);
    for (int c = 0; c < 10; ++c) rows += fmt::format("\t{}", (i + c) % 5);
    rows += '\n';
  }
  DescribeOptions options;
  options.table = {.format = TableFormat::tsv, .heading = {"said", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}};
  const DataDescription data = describe_data({file("rows", rows)}, options);
  const std::string draft = draft_configuration(data, folder_ / ".");
  EXPECT_THAT(draft, AllOf(HasSubstr("format = \"tsv\"\n"), HasSubstr("heading = [\n  \"said\",\n  \"a\",\n"),
                           HasSubstr("\n  \"h: scalar of column h from 0 to 4\",\n  # \"i: scalar of column i"),
                           HasSubstr("8 knobs at most")));
}

TEST_F(Describe, ColumnsOfSeveralWordsBecomeKnobsAndNamesOfRowsDoNot) {
  std::string text = "Id\tthe text\tStar Rating\tpost_id\tNormalized  Score\n";
  for (int i = 0; i < 300; ++i)
    text += fmt::format("{}\tsome longer text {}\t{}\t{}\t{}\n", 17 * i, i, i % 3, 1000 - 3 * i, i * 0.01);
  const DataDescription data = of("a.tsv", text);
  EXPECT_THAT(knobs(data), ElementsAre("star_rating: scalar of column \"Star Rating\" from 0 to 2",
                                       "normalized__score: scalar of column \"Normalized  Score\" from 0 to 2.99"));
  for (const std::string& knob : knobs(data)) EXPECT_EQ(to_string(parse_knob(knob)), knob);
  EXPECT_THAT(
      draft_configuration(data, folder_ / "."),
      AllOf(HasSubstr("  \"Star Rating\",\n  \"Normalized  Score\",\n]"), HasSubstr("column \\\"Star Rating\\\"")));
}

TEST_F(Describe, DraftsAConfigurationThatNamesFilesAsSeenFromIt) {
  std::filesystem::create_directory(folder_ / "sub");
  const DataDescription data = of("a \"b\".tsv", labelled_rows());
  const std::string draft = draft_configuration(data, folder_ / "sub");
  EXPECT_THAT(draft, HasSubstr("\"../a \\\"b\\\".tsv\""));
  EXPECT_THAT(draft, HasSubstr("text = \"text\"\n"));
  EXPECT_THAT(draft, HasSubstr("  \"stars\",\n  \"topic\",\n  \"label\",\n  \"score\",\n]"));
  EXPECT_THAT(draft, HasSubstr("  \"stars: scalar of column stars from 1 to 5\",\n"));
}

TEST(WordScan, CutsTextsIntoWordsAndMarks) {
  const auto words = [](std::string_view text) {
    std::string joined;
    for_each_word(text, [&](std::string_view word) { joined += std::string(word) + '|'; });
    return joined;
  };
  EXPECT_EQ(words("It's a well-made (thing)."), "It's|a|well-made|(|thing|)|.|");
  EXPECT_EQ(words("\xE2\x80\x9Cgr\xC3\xB6\xC3\x9F"
                  "er\xE2\x80\x9D, isn\xE2\x80\x99t"),
            "\xE2\x80\x9C|gr\xC3\xB6\xC3\x9F"
            "er|\xE2\x80\x9D|,|isn\xE2\x80\x99t|");
  EXPECT_EQ(words(" \t\n"), "");
}

TEST(DistinctTexts, CountsAndThenEstimatesRepeats) {
  DistinctTexts all, few(1000);
  for (int i = 0; i < 60000; ++i) {
    const std::uint64_t hash = text_hash(fmt::format("text {}", i % 40000));
    all.add(hash);
    few.add(hash);
  }
  EXPECT_TRUE(all.exact());
  EXPECT_EQ(all.distinct(), 40000U);
  EXPECT_EQ(all.repeated(), 20000U);
  EXPECT_FALSE(few.exact());
  EXPECT_NEAR(static_cast<double>(few.distinct()), 40000.0, 4000.0);
  EXPECT_NEAR(static_cast<double>(few.repeated()), 20000.0, 3000.0);
}

}  // namespace
}  // namespace semfuse
