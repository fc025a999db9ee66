#include "data/table_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "semfuse/error.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<TableReader> table_of(std::string_view text, TableFormat format, const TableOptions& options = {}) {
  return TableReader::of(unpacked_bytes(text, "data"), format, options);
}

// Every row as "line: cell|cell", "line: blank" or "line! fault".
std::vector<std::string> rows_of(std::string_view text, TableFormat format, const TableOptions& options = {}) {
  const auto table = table_of(text, format, options);
  std::vector<std::string> rows;
  for (Row row; table->next(row);) {
    if (row.fault) {
      EXPECT_TRUE(row.cells.empty());
      rows.push_back(fmt::format("{}! {}", row.line, row.fault->what));
      continue;
    }
    std::string cells;
    for (const Cell& cell : row.cells) {
      if (&cell != row.cells.data()) cells += '|';
      cells += cell.kind == Cell::Kind::absent   ? "<absent>"
               : cell.kind == Cell::Kind::nested ? "<nested>"
                                                 : std::string(cell.text);
    }
    rows.push_back(fmt::format("{}: {}", row.line, row.blank ? "blank" : cells));
  }
  return rows;
}

std::string table_error_of(std::string_view text, TableFormat format, const TableOptions& options = {}) {
  try {
    rows_of(text, format, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr auto kTxt = TableFormat::txt;
constexpr auto kTsv = TableFormat::tsv;
constexpr auto kCsv = TableFormat::csv;
constexpr auto kJsonl = TableFormat::jsonl;

TEST(TableReader, KnowsFormatsByTheirNames) {
  EXPECT_EQ(table_format_of("a.txt"), kTxt);
  EXPECT_EQ(table_format_of("dir.csv/a.b.TSV.gz"), kTsv);
  EXPECT_EQ(table_format_of("a.csv.zst"), kCsv);
  EXPECT_EQ(table_format_of("a.ndjson"), kJsonl);
  for (const char* name : {"a", "a.gz", "a.parquet", "a.neg", ".txt", ""}) {
    EXPECT_THROW(table_format_of(name), Error) << name;
  }
  for (const auto format : {kTxt, kTsv, kCsv, kJsonl}) EXPECT_EQ(parse_table_format(to_string(format)), format);
  EXPECT_THROW(parse_table_format("xml"), Error);
}

TEST(TableReader, ReadsATextALine) {
  EXPECT_THAT(rows_of("one\ntwo", kTxt), ElementsAre("1: one", "2: two"));
  EXPECT_THAT(rows_of("one\r\n\r\n two \n", kTxt), ElementsAre("1: one", "2: blank", "3:  two "));
  EXPECT_THAT(rows_of("\xEF\xBB\xBFone\n", kTxt), ElementsAre("1: one"));
  EXPECT_THAT(rows_of("a\"b\tc", kTxt), ElementsAre("1: a\"b\tc"));
  EXPECT_TRUE(rows_of("", kTxt).empty());
  EXPECT_TRUE(rows_of("\xEF\xBB\xBF", kTxt).empty());
  EXPECT_THAT(rows_of("\n", kTxt), ElementsAre("1: blank"));
}

TEST(TableReader, FindsBytesThatAreNoText) {
  EXPECT_THAT(
      rows_of("good\nba\xFF"
              "d\nsh\xC3",
              kTxt),
      ElementsAre("1: good", HasSubstr("2! byte 3 is not UTF-8: \"\\xff"), HasSubstr("3! byte 3 is not UTF-8")));
  EXPECT_THAT(rows_of(std::string_view("a\0b\nc", 5), kTxt), ElementsAre(HasSubstr("1! has a zero byte"), "2: c"));
  EXPECT_THAT(table_error_of("\xFF\xFE"
                             "a",
                             kTxt),
              HasSubstr("data: is UTF-16; save it as UTF-8"));
  EXPECT_THAT(table_error_of("PK\x03\x04\x14", kTsv), HasSubstr("data: is an archive (zip); unpack it"));
  EXPECT_THAT(table_error_of("\xFD"
                             "7zXZ\n",
                             kTxt),
              HasSubstr("is an archive (xz)"));
  EXPECT_THAT(rows_of("t\nab\xED\xA0\x80\n", kTsv), ElementsAre(HasSubstr("not UTF-8")));
}

TEST(TableReader, PassesOverLinesThatAreTooLong) {
  const TableOptions options{.max_row_bytes = 1000};
  const std::string most(1000, 'a');
  EXPECT_THAT(rows_of(most + "\nb", kTxt, options), ElementsAre("1: " + most, "2: b"));
  EXPECT_THAT(rows_of(most + "a\nb", kTxt, options), ElementsAre(HasSubstr("1! is longer than 1000 bytes"), "2: b"));
  EXPECT_THAT(rows_of("b\n" + std::string(3'000'000, 'a') + "\nc\n", kTxt, options),
              ElementsAre("1: b", HasSubstr("2! is longer"), "3: c"));
  EXPECT_THAT(rows_of(std::string(3'000'000, 'a'), kTxt, options), ElementsAre(HasSubstr("1! is longer")));
}

TEST(TableReader, ReadsTabsBetweenCells) {
  const auto table = table_of("text\tstars\t\n", kTsv);
  EXPECT_THAT(table->columns(), ElementsAre("text", "stars", "column_3"));
  EXPECT_EQ(table->find_column("stars"), 1U);
  EXPECT_EQ(table->find_column("star"), std::nullopt);
  EXPECT_THAT(rows_of("\n\r\na\tb\r\n1\t2\r\n\r\n\t\n\"x\t3", kTsv),
              ElementsAre("4: 1|2", "5: blank", "6: |", "7: \"x|3"));
  EXPECT_THAT(rows_of("a\tb\n1\n1\t2\t3\n1\t2", kTsv),
              ElementsAre(HasSubstr("2! has 1 cell, and the table 2 columns; write the missing ones"),
                          HasSubstr("3! has 3 cells"), "4: 1|2"));
  EXPECT_THAT(rows_of("1\tx\n2\ty\n", kTsv, {.heading = {"label", "text"}}), ElementsAre("1: 1|x", "2: 2|y"));
}

TEST(TableReader, RefusesHeadingsThatNameNoColumns) {
  EXPECT_THAT(table_error_of("", kTsv), HasSubstr("data: is empty"));
  EXPECT_THAT(table_error_of("\n\n", kCsv), HasSubstr("data: is empty"));
  EXPECT_THAT(table_error_of("a\ta\n", kTsv), HasSubstr("data:1: names the column \"a\" twice"));
  EXPECT_THAT(table_error_of("3,\"good text\"\n", kCsv),
              HasSubstr("data:1: the first line names the columns, and \"3\" is a number; name the 2 columns with "
                        "--heading NAME,NAME, or write a line of names in front"));
  EXPECT_THAT(table_error_of("1\n", kTsv), HasSubstr("name the column with --heading NAME,"));
  EXPECT_THAT(table_error_of("1,2,3,4,5,6,7,8,9\n", kCsv), HasSubstr("NAME,NAME,..., or"));
  EXPECT_THAT(table_error_of("a\xFF,b\n", kCsv), HasSubstr("data:1: byte 2 is not UTF-8"));
  EXPECT_THAT(table_error_of("\"a,b\n", kCsv), HasSubstr("data:1: a quote is never closed"));
  EXPECT_THAT(table_error_of(std::string(2000, ','), kCsv), HasSubstr("more than 1000"));
}

TEST(TableReader, ReadsSemicolonsWhereTheFirstLineHasNoComma) {
  EXPECT_THAT(table_of("text;label\n", kCsv)->columns(), ElementsAre("text", "label"));
  EXPECT_THAT(rows_of("\na;b\n1,5;2\n\"x; y\";z\n", kCsv), ElementsAre("3: 1,5|2", "4: x; y|z"));
  EXPECT_THAT(rows_of("\"a\";\"b\"\n1;2\n", kCsv), ElementsAre("2: 1|2"));
  EXPECT_THAT(rows_of("a;b\n1;2;3\n", kCsv), ElementsAre(HasSubstr("put text with semicolons in double quotes")));
  EXPECT_THAT(rows_of("1;x\n2;y\n", kCsv, {.heading = {"label", "text"}}), ElementsAre("1: 1|x", "2: 2|y"));
  EXPECT_THAT(rows_of("a;b,c\n1;2,3\n", kCsv), ElementsAre("2: 1;2|3"));
  EXPECT_THAT(rows_of("well; yes\nno\n", kCsv, {.heading = {"text"}}), ElementsAre("1: well; yes", "2: no"));
  EXPECT_THAT(rows_of("a;b\n1;2\n", kTsv), ElementsAre("2: 1;2"));
}

TEST(TableReader, ReadsCommasAndQuotes) {
  EXPECT_THAT(rows_of("a,b\n1,2\n\"x, y\",\"say \"\"hi\"\"\"\n\"\",\n", kCsv),
              ElementsAre("2: 1|2", "3: x, y|say \"hi\"", "4: |"));
  EXPECT_THAT(rows_of("a,b\r\n\"two\r\nlines\",1\r\n\"\n\n\",2\r\nx,y", kCsv),
              ElementsAre("2: two\r\nlines|1", "4: \n\n|2", "7: x|y"));
  EXPECT_THAT(rows_of("a,b\n5\" pipe,3 \"q\"\n", kCsv), ElementsAre("2: 5\" pipe|3 \"q\""));
  EXPECT_THAT(rows_of("\"a\",\"b\"\n\"1\",\"2\"", kCsv), ElementsAre("2: 1|2"));
  EXPECT_THAT(rows_of("a,b\n\"x\"y,1\n2,3\n", kCsv),
              ElementsAre(HasSubstr("2! has \"y,1\" behind a closing quote"), "3: 2|3"));
}

TEST(TableReader, AForgottenQuoteCostsOneLine) {
  EXPECT_THAT(rows_of("a,b\n\"x,1\n2,3\n4,5", kCsv),
              ElementsAre(HasSubstr("2! a quote is never closed"), "3: 2|3", "4: 4|5"));
  std::string text = "a,b\n\"x,1\n";
  for (int i = 0; i < 200000; ++i) text += "2,3\n";
  const std::vector<std::string> rows = rows_of(text, kCsv, {.max_row_bytes = 300'000});
  ASSERT_EQ(rows.size(), 200001U);
  EXPECT_THAT(rows[0], HasSubstr("or only after 300000 bytes"));
  EXPECT_EQ(rows[200000], "200002: 2|3");
}

TEST(TableReader, ReadsAnObjectALine) {
  const auto table = table_of("{\"b\": 1, \"a\": \"x\"}\n{\"c\": true, \"a\": \"y\"}", kJsonl);
  Row row;
  ASSERT_TRUE(table->next(row));
  EXPECT_THAT(table->columns(), ElementsAre("b", "a"));
  EXPECT_EQ(row.cells[0].kind, Cell::Kind::number);
  EXPECT_EQ(row.cells[1].kind, Cell::Kind::text);
  ASSERT_TRUE(table->next(row));
  EXPECT_THAT(table->columns(), ElementsAre("b", "a", "c"));
  EXPECT_EQ(row.cells[0].kind, Cell::Kind::absent);
  EXPECT_EQ(row.cells[2].kind, Cell::Kind::boolean);
  EXPECT_THAT(rows_of("{\"a\": -1.50e3, \"b\": null, \"c\": [1, {\"a\": 2}], \"d\": {}}\n\n {} \n"
                      "{\"a\": \"\\u00e9\\n\", \"d\": 18446744073709551616}",
                      kJsonl),
              ElementsAre("1: -1.50e3|<absent>|<nested>|<nested>", "2: blank",
                          "3: ", "4: \xC3\xA9\n|<absent>|<absent>|18446744073709551616"));
}

TEST(TableReader, FindsLinesThatAreNoObjects) {
  for (const char* line : {"[1]", "1", "\"a\"", "null"}) {
    EXPECT_THAT(rows_of(line, kJsonl), ElementsAre(HasSubstr("1! is no JSON object"))) << line;
  }
  for (const char* line :
       {"{", "{\"a\"}", "{\"a\": 01}", "{} {}", "{'a': 1}", "{\"a\": \"\\ud800\"}", "{\"a\": nan}"}) {
    EXPECT_THAT(rows_of(line, kJsonl), ElementsAre(HasSubstr("1! is no valid JSON from byte "))) << line;
  }
  EXPECT_THAT(rows_of("{\"a\": 1, \"a\": 2}\n{\"a\": 1e999}\n{\"a\": 3}", kJsonl),
              ElementsAre(HasSubstr("1! has the key \"a\" twice"), HasSubstr("2! has a number out of range"), "3: 3"));
  EXPECT_THAT(rows_of(std::string(1'000'000, '['), kJsonl), ElementsAre(HasSubstr("1! ")));
  std::string many;
  for (int i = 0; i < 1200; ++i) many += fmt::format("{{\"k{}\": 1}}\n", i);
  const std::vector<std::string> rows = rows_of(many, kJsonl);
  ASSERT_EQ(rows.size(), 1200U);
  EXPECT_THAT(rows[1100], HasSubstr("1101! has the key \"k1100\", and there are 1000 others"));
}

}  // namespace
}  // namespace semfuse
