#include "data/record_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/text_hash.h"
#include "semfuse/error.h"
#include "support/packed.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Records : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string shown(const RecordReader& reader, const Record& record) {
    std::string text = std::filesystem::path(reader.place(record)).filename().string() + " ";
    text += record.text;
    for (const Cell& cell : record.cells) {
      text += '|';
      text += cell.kind == Cell::Kind::absent ? "<absent>" : cell.text;
    }
    return text;
  }
  static std::vector<std::string> all(RecordReader& reader) {
    std::vector<std::string> records;
    for (Record record; reader.next(record);) records.push_back(shown(reader, record));
    return records;
  }
  static std::vector<std::string> all(const std::vector<std::filesystem::path>& files,
                                      const RecordOptions& options = {}) {
    RecordReader reader(files, options);
    return all(reader);
  }
  static std::string error(const std::vector<std::filesystem::path>& files, const RecordOptions& options = {}) {
    try {
      all(files, options);
    } catch (const Error& caught) {
      EXPECT_THAT(caught.what(), testing::Not(HasSubstr("\n")));
      return caught.what();
    }
    return "";
  }

  TemporaryFolder folder_;
};

TEST_F(Records, GoFromFileToFile) {
  const auto a = file("a.tsv.gz", gzipped("stars\ttext\n5\tgood\n1\tbad\n"));
  const auto b = file("b.jsonl.zst", zstd_packed("{\"text\": \"fine\"}\n\n{\"stars\": 2, \"text\": \"poor\"}"));
  const auto c = file("c.csv", "text,stars\n\"so, so\",3\n");
  RecordReader reader({a, b, c}, {.columns = {"stars"}});
  EXPECT_EQ(reader.text_column().name, "text");
  EXPECT_EQ(reader.text_column().reason, "by its name");
  EXPECT_THAT(all(reader), ElementsAre("a.tsv.gz:2 good|5", "a.tsv.gz:3 bad|1", "b.jsonl.zst:1 fine|<absent>",
                                       "b.jsonl.zst:3 poor|2", "c.csv:2 so, so|3"));
  EXPECT_EQ(reader.counts().texts, 5U);
  EXPECT_EQ(reader.counts().empty, 1U);
  EXPECT_EQ(reader.counts().text_bytes, 21U);
  EXPECT_EQ(reader.bytes_read(), reader.bytes_total());
  Record record;
  EXPECT_FALSE(reader.next(record));
  EXPECT_THAT(all({file("d.txt", "one\n \ntwo"), c}), ElementsAre("d.txt:1 one", "d.txt:3 two", "c.csv:2 so, so"));
}

TEST_F(Records, OfABlockOwnTheirBytes) {
  std::string text = "text\tstars\n";
  for (int i = 0; i < 1000; ++i) text += "text number " + std::to_string(i) + "\t" + std::to_string(i % 5) + "\n";
  const auto path = file("a.tsv", text);
  RecordReader one({path}, {.columns = {"stars"}}), blocks({path}, {.columns = {"stars"}});
  std::vector<std::string> records;
  std::vector<RecordBlock> kept;
  for (RecordBlock block; blocks.next_block(block, 300);) kept.push_back(std::move(block));
  EXPECT_GT(kept.size(), 10U);
  for (const RecordBlock& block : kept) {
    for (const Record& record : block.records) records.push_back(shown(blocks, record));
  }
  EXPECT_EQ(records, all(one));
}

TEST_F(Records, AreRefusedWithTheirPlaceOrCounted) {
  const auto path = file("a.tsv",
                         "text\tstars\ngood\t5\nonly\nba\xFF"
                         "d\t1\n\t3\nfine\t4\n");
  EXPECT_THAT(error({path}), HasSubstr("a.tsv:3: has 1 cell"));
  RecordReader reader({path}, {.skip_bad = true});
  EXPECT_THAT(all(reader), ElementsAre("a.tsv:2 good", "a.tsv:6 fine"));
  EXPECT_EQ(reader.counts().bad, 2U);
  EXPECT_EQ(reader.counts().empty, 1U);
  EXPECT_THAT(reader.counts().first_bad, ElementsAre(HasSubstr("a.tsv:3: has 1 cell"), HasSubstr("a.tsv:4: byte 3")));
  std::string many = "text\n";
  for (int i = 0; i < 20; ++i) many += "\xFF\n";
  RecordReader some({file("b.tsv", many + "x\n")}, {.skip_bad = true});
  EXPECT_EQ(all(some).size(), 1U);
  EXPECT_EQ(some.counts().bad, 20U);
  EXPECT_EQ(some.counts().first_bad.size(), 5U);
}

TEST_F(Records, NeedTheirColumns) {
  const auto tsv = file("a.tsv", "text\tstars\ngood\t5\n");
  const auto jsonl =
      file("a.jsonl", "{\"text\": \"a\", \"list\": [1]}\n{\"t\": 1}\n{\"text\": \"b\\u0000\"}\n{\"text\": 7}\n");
  EXPECT_THAT(error({tsv}, {.columns = {"star"}}),
              HasSubstr("a.tsv: has no column \"star\"; it has \"text\", \"stars\"; did you mean \"stars\"?"));
  EXPECT_THAT(error({tsv}, {.text_column = "body"}), HasSubstr("has no column \"body\""));
  EXPECT_THAT(error({file("a.txt", "x")}, {.columns = {"stars"}}), HasSubstr("a.txt: has no column \"stars\""));
  EXPECT_THAT(error({jsonl}), HasSubstr("a.jsonl:2: has no \"text\""));
  EXPECT_THAT(error({jsonl}, {.columns = {"list"}}), HasSubstr("a.jsonl:1: \"list\" is a list or an object"));
  EXPECT_THAT(error({jsonl}, {.columns = {"stars"}, .skip_bad = true}),
              HasSubstr("a.jsonl: no object has the key \"stars\"; the keys are \"text, list, t\""));
  RecordReader reader({jsonl}, {.skip_bad = true});
  EXPECT_THAT(all(reader), ElementsAre("a.jsonl:1 a", "a.jsonl:4 7"));
  EXPECT_THAT(reader.counts().first_bad[1], HasSubstr("a.jsonl:3: \"text\" has a zero byte"));
}

TEST_F(Records, NeedSomeText) {
  EXPECT_THAT(error({}), HasSubstr("no file of data"));
  EXPECT_THAT(error({file("a.txt", "")}), HasSubstr("a.txt: holds no text"));
  EXPECT_THAT(error({file("b.tsv", "text\n")}), HasSubstr("b.tsv: holds no text"));
  EXPECT_THAT(error({file("c.jsonl", "")}), HasSubstr("c.jsonl: holds no rows"));
  EXPECT_THAT(error({file("d.txt", " \n\n")}, {.skip_bad = true}), HasSubstr("d.txt: holds no text"));
  // Where every row is at fault, the first one says why.
  EXPECT_THAT(error({file("e.txt", "\ncaf\xE9\nol\xE9\n")}, {.skip_bad = true}),
              AllOf(HasSubstr("e.txt:2: "), HasSubstr("no row of the file can be used")));
  EXPECT_THAT(error({file("f.jsonl", "[\n{\"text\": 1},\n]\n")}, {.skip_bad = true}), HasSubstr("f.jsonl:1: "));
  EXPECT_THAT(error({folder_ / "absent.tsv"}), HasSubstr("absent.tsv: cannot open"));
  EXPECT_THAT(error({file("e.neg", "x")}), HasSubstr("e.neg: its name does not say"));
  EXPECT_THAT(all({folder_ / "e.neg"}, {.table = {.format = TableFormat::txt}}), ElementsAre("e.neg:1 x"));
  RecordReader two({folder_ / "a.txt", folder_ / "e.txt"}, {.skip_bad = true, .table = {.format = TableFormat::txt}});
  std::ofstream(folder_ / "e.txt") << "x";
  EXPECT_THAT(all(two), ElementsAre("e.txt:1 x"));
  EXPECT_EQ(two.counts().bad, 1U);
}

TEST_F(Records, NoticeAFileThatShrinks) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a line of text\n";
  const auto path = file("a.txt", text);
  RecordReader reader({path}, {});
  Record record;
  ASSERT_TRUE(reader.next(record));
  std::filesystem::resize_file(path, 20);
  EXPECT_THROW(while (reader.next(record)){}, Error);
}

TEST_F(Records, TextColumnIsFoundByNameOrLength) {
  const auto column = [&](const std::string& name, const std::string& bytes) {
    const TextColumn found = find_text_column(file(name, bytes));
    return found.name + ": " + found.reason;
  };
  EXPECT_EQ(column("a.tsv", "id\tReview\tsentence\n1\ta\tb\n"), "sentence: by its name");
  EXPECT_EQ(column("b.tsv", "id\tREVIEW\n1\ta\n"), "REVIEW: by its name");
  EXPECT_EQ(column("c.csv", "id,who,said\n123456789,Bob,hello there\n"), "said: the longest on average");
  EXPECT_EQ(column("d.jsonl", "{\"x\": \"short\", \"y\": 12345678, \"z\": [1,2,3,4,5,6,7,8]}"),
            "x: the longest on average");
  EXPECT_EQ(column("e.tsv", "line\nhello\n"), "line: the only column");
  EXPECT_EQ(column("f.txt", "hello\n"), "text: ");
  EXPECT_THROW(column("g.tsv", "a\tb\n1\t2\n"), Error);
  // What describes a text may be longer than the text.
  EXPECT_EQ(column("h.csv", "mr,ref\n\"inform(name[A], genres[b, c])\",It is good.\n"), "ref: by its name");
  EXPECT_EQ(column("i.tsv", "id\tTexte\n1\tvoil\xC3\xA0\n"), "Texte: by its name");
}

TEST_F(Records, ARowThatShouldNameColumnsIsRefused) {
  const auto error = [&](const std::string& name, const std::string& bytes, const TableOptions& options = {}) {
    try {
      find_text_column(file(name, bytes), options);
    } catch (const Error& refused) {
      return std::string(refused.what());
    }
    return std::string();
  };
  const std::string pairs = "0 1 I do not think that it helps\tI will not think that it helps\n1 0 You\tThey\n";
  EXPECT_THAT(error("pairs.tsv", pairs),
              AllOf(HasSubstr("pairs.tsv: its first line should name the columns, but reads like a text: "),
                    HasSubstr("name the 2 columns with --heading NAME,NAME, or write a line of names in front")));
  EXPECT_EQ(error("pairs.tsv", pairs, {.heading = {"from", "to"}}), "");
  EXPECT_THAT(error("short.tsv", "Hi.\tHallo!\nGo.\tGeh jetzt endlich.\n"), HasSubstr("\"Hallo!\""));
  EXPECT_THAT(error("one.csv", "the food was really good here\nand so was the service\n"), HasSubstr("--heading NAME"));
  EXPECT_THAT(error("labels.csv", "good,I like the soup very much\nbad,so so\ngood,fine but not for me at all\n"),
              HasSubstr("--heading NAME,NAME"));
  // Names that are long, or met again below, are names all the same.
  const std::string rows = "2024-01-02,I like it very much,good\n2024-01-03,so so,bad\n";
  EXPECT_EQ(error("form.csv", "Timestamp,Tell us in your own words what you think,verdict\n" + rows), "");
  EXPECT_EQ(error("question.csv", "What do you think about our new restaurant?\nit is very good I think\n"), "");
  EXPECT_EQ(error("joined.csv", "said,verdict\na,good\nsaid,verdict\nb,bad\n"), "");
  EXPECT_EQ(error("boxes.csv", "Red,Blue,anything else\nRed,,no it is fine as it is\n,Blue,x\n"), "");
  EXPECT_EQ(error("number.tsv", "No.\tsaid\n1\thello\n"), "");
  EXPECT_EQ(error("named.tsv", "text\tEverything that you want to say about this\nx\ty\n"), "");
}

TEST(TextHash, IsTheSameForEver) {
  EXPECT_EQ(text_hash(""), 0xF52A15E9A9B5E89BU);
  EXPECT_EQ(text_hash("a"), text_hash("a"));
  EXPECT_NE(text_hash("a"), text_hash("b"));
}

TEST(TextHash, SplitsByShare) {
  std::size_t tenth = 0, half = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "sentence " + std::to_string(i);
    tenth += is_validation_text(text, 0.1) ? 1 : 0;
    half += is_validation_text(text, 0.5) ? 1 : 0;
    EXPECT_TRUE(!is_validation_text(text, 0.1) || is_validation_text(text, 0.5));
    EXPECT_FALSE(is_validation_text(text, 0.0));
    EXPECT_TRUE(is_validation_text(text, 1.0));
  }
  EXPECT_NEAR(static_cast<double>(tenth), 2000.0, 150.0);
  EXPECT_NEAR(static_cast<double>(half), 10000.0, 250.0);
}

}  // namespace
}  // namespace semfuse
