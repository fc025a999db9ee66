#include "data/delimited_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/number_text.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// Goes over a line's cells to see whether a quote stays open, and where cells end.
class QuoteScan {
 public:
  explicit QuoteScan(char separator) : separator_(separator) {}

  // Goes on with a line from `from`; what lies before was scanned.
  void go_on(std::string_view line, std::size_t from) {
    for (std::size_t i = from; i < line.size();) {
      if (open_) {
        i = std::min(line.find('"', i), line.size());
        if (i == line.size()) return;
        if (i + 1 < line.size() && line[i + 1] == '"') {
          i += 2;
          continue;
        }
        open_ = false;
        ++i;
      } else if (at_cell_) {
        at_cell_ = false;
        if (line[i] == '"') {
          open_ = true;
          ++i;
        }
      } else {
        i = std::min(line.find(separator_, i), line.size());
        if (i == line.size()) return;
        at_cell_ = true;
        ++i;
      }
    }
  }

  bool open() const { return open_; }

 private:
  char separator_;
  bool open_ = false;
  bool at_cell_ = true;  // The next byte is the first of a cell.
};

}  // namespace

std::string heading_example(std::size_t num_columns) {
  constexpr std::size_t kMostShown = 8;
  std::string example = "NAME";
  for (std::size_t i = 1; i < std::min(num_columns, kMostShown); ++i) example += ",NAME";
  return num_columns > kMostShown ? example + ",..." : example;
}

DelimitedTable::DelimitedTable(std::unique_ptr<ByteSource> source, TableFormat format, const TableOptions& options)
    : TableReader(std::move(source), format, options),
      separator_(format == TableFormat::csv ? ',' : '\t'),
      quotes_(format == TableFormat::csv) {
  if (options.heading.empty()) {
    read_heading();
  } else {
    named_ = true;
    set_columns(options.heading, 1);
  }
}

void DelimitedTable::read_heading() {
  Row row;
  bool found = true;
  do {
    found = next(row);
  } while (found && row.blank);
  if (!found) throw Error(fmt::format("{}: is empty; it needs a line with the names of its columns", name()));
  if (row.fault && row.fault->kind != RowFault::Kind::wrong_cells) {
    throw Error(fmt::format("{}:{}: {}", name(), row.line, row.fault->what));
  }
  std::vector<std::string> names;
  for (const Cell& cell : row.cells) names.emplace_back(cell.text);
  for (const std::string& cell : names) {
    if (number_of(cell)) {
      throw Error(fmt::format(
          "{}:{}: the first line names the columns, and {} is a number; name the {} with --heading {}, or write a line "
          "of names in front",
          name(), row.line, quoted_text(cell), names.size() == 1 ? "column" : fmt::format("{} columns", names.size()),
          heading_example(names.size())));
    }
  }
  set_columns(std::move(names), row.line);
}

void DelimitedTable::set_columns(std::vector<std::string> names, std::size_t line) {
  if (names.size() > kMostTableColumns) {
    throw Error(fmt::format("{}:{}: has {} columns, more than {}; is it a {} file?", name(), line, names.size(),
                            kMostTableColumns, to_string(format())));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = fmt::format("column_{}", i + 1);
    if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
        names.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw Error(fmt::format("{}:{}: names the column {} twice; rename one", name(), line, quoted_text(names[i])));
    }
  }
  columns_ = std::move(names);
}

// Programs write semicolons where a comma is a decimal point.
void DelimitedTable::choose_separator() {
  chosen_ = true;
  if (columns_.size() == 1) return;  // Nothing separates.
  const std::string_view line = lines_.line();
  if (quotes_ && line.find(separator_) == line.npos && line.find(';') != line.npos) separator_ = ';';
}

void DelimitedTable::gather(Row& row) {
  if (!chosen_) choose_separator();
  if (!quotes_ || lines_.line().find('"') == std::string_view::npos) return;
  QuoteScan scan(separator_);
  std::size_t scanned = 0;
  while (true) {
    scan.go_on(lines_.line(), scanned);
    if (!scan.open()) return;
    // The line end belongs to the cell; a doubled quote cannot span it.
    scanned = lines_.line().size();
    if (!lines_.extend()) break;
  }
  // Else one forgotten quote would swallow the rest of the file.
  lines_.retract();
  row.fault = {RowFault::Kind::bad_quotes,
               fmt::format("a quote is never closed, or only after {} bytes; close it, or double it (\"\") where it is "
                           "a part of the text",
                           lines_.max_bytes())};
}

void DelimitedTable::parse(Row& row) {
  if (quotes_ && lines_.line().find('"') != std::string_view::npos) {
    split_quoted(row);
  } else {
    split(row);
  }
  if (row.fault || columns_.empty() || row.cells.size() == columns_.size()) return;
  const std::string_view advice = row.cells.size() < columns_.size() ? "write the missing ones, if empty"
                                  : separator_ == ','                ? "put text with commas in double quotes"
                                  : separator_ == ';'                ? "put text with semicolons in double quotes"
                                                                     : "replace tabs inside of texts";
  row.fault = {RowFault::Kind::wrong_cells,
               fmt::format("has {} {}, and {} {} {}; {}", row.cells.size(), row.cells.size() == 1 ? "cell" : "cells",
                           named_ ? "--heading names" : "the table", columns_.size(),
                           columns_.size() == 1 ? "column" : "columns", advice)};
}

void DelimitedTable::split(Row& row) {
  std::string_view rest = lines_.line();
  while (true) {
    const std::size_t end = rest.find(separator_);
    row.cells.push_back({rest.substr(0, end), Cell::Kind::text});
    if (end == rest.npos) return;
    rest.remove_prefix(end + 1);
  }
}

void DelimitedTable::split_quoted(Row& row) {
  std::string_view rest = lines_.line();
  unquoted_.clear();
  unquoted_.reserve(rest.size());  // Cells point into it.
  while (true) {
    if (!rest.starts_with('"')) {
      const std::size_t end = rest.find(separator_);
      row.cells.push_back({rest.substr(0, end), Cell::Kind::text});
      if (end == rest.npos) return;
      rest.remove_prefix(end + 1);
      continue;
    }
    rest.remove_prefix(1);
    const std::size_t begin = unquoted_.size();
    while (true) {
      const std::size_t quote = rest.find('"');  // There is one: gather() saw it.
      unquoted_ += rest.substr(0, quote);
      rest.remove_prefix(std::min(quote, rest.size() - 1) + 1);
      if (!rest.starts_with('"')) break;
      unquoted_ += '"';
      rest.remove_prefix(1);
    }
    row.cells.push_back({std::string_view(unquoted_).substr(begin), Cell::Kind::text});
    if (rest.empty()) return;
    if (rest.front() != separator_) {
      row.fault = {RowFault::Kind::bad_quotes,
                   fmt::format("has {} behind a closing quote; double the quotes (\"\") that are a part of the text",
                               quoted_text(rest, 12))};
      return;
    }
    rest.remove_prefix(1);
  }
}

}  // namespace semfuse
