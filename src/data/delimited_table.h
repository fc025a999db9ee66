// Tables of cells with tabs or commas between them.
#pragma once

#include <memory>
#include <string>

#include "data/table_reader.h"

namespace semfuse {

// The first line names the columns, unless the options do; a name that is empty becomes column_1 and so on. Every other
// line has as many cells. In csv a cell may stand in double quotes, and then hold commas, line ends and doubled quotes;
// a quote inside a cell that does not begin with one is a letter like any other. In tsv quotes are letters too. A csv
// whose first line has semicolons and no comma has semicolons between its cells.
class DelimitedTable : public TableReader {
 public:
  // Throws Error if the heading is missing, not UTF-8, has a name twice, or looks like a row.
  DelimitedTable(std::unique_ptr<ByteSource> source, TableFormat format, const TableOptions& options);

 private:
  void gather(Row& row) override;
  void parse(Row& row) override;
  void split(Row& row);
  void split_quoted(Row& row);
  void read_heading();
  void choose_separator();
  void set_columns(std::vector<std::string> names, std::size_t line);

  char separator_;
  bool quotes_;
  bool chosen_ = false;   // The separator, by the first line.
  bool named_ = false;    // The columns, by the options.
  std::string unquoted_;  // Cells of this row that had quotes in quotes.
};

// What to write behind --heading for so many columns: "NAME,NAME".
std::string heading_example(std::size_t num_columns);

}  // namespace semfuse
