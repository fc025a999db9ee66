// The rows of one file: a text a line (.txt), tab-separated (.tsv), comma-separated (.csv, quoted as RFC 4180), or a
// JSON object a line (.jsonl); each may be packed (.gz, .zst).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/line_reader.h"

namespace semfuse {

enum class TableFormat { txt, tsv, csv, jsonl };

// A table with more columns is refused.
inline constexpr std::size_t kMostTableColumns = 1000;

std::string_view to_string(TableFormat format);
// "txt", "tsv", "csv", "jsonl". Throws Error for anything else.
TableFormat parse_table_format(std::string_view name);
// By the end of the name: reviews.tsv.gz is a tsv. Throws Error if that is unknown.
TableFormat table_format_of(const std::filesystem::path& path);

struct Cell {
  enum class Kind { absent, text, number, boolean, nested };
  std::string_view text;  // As written; without quotes and escapes.
  Kind kind = Kind::absent;
};

// Why a row cannot be used.
struct RowFault {
  enum class Kind { not_utf8, zero_byte, too_long, wrong_cells, bad_quotes, bad_json };
  Kind kind;
  std::string what;  // What is wrong and what to do, without the place.
};

// One row; what it shows is valid until the next one is read.
struct Row {
  std::size_t line = 0;     // Where it begins, from 1.
  std::size_t bytes = 0;    // Its length in the file, unpacked, without its line end.
  bool blank = false;       // A line with nothing on it, which is no row; has no cells.
  std::vector<Cell> cells;  // By columns(); rows of jsonl may be shorter than that.
  std::optional<RowFault> fault;
};

struct TableOptions {
  std::optional<TableFormat> format;  // Set it for files whose names do not say.
  // Of tsv and csv: the names of the columns where the file does not begin with a line of them.
  std::vector<std::string> heading;
  // A longer row is at fault. Raise it for whole documents in a row; memory grows with it.
  std::size_t max_row_bytes = std::size_t{1} << 20;
};

// One pass over a file. Not thread-safe.
class TableReader {
 public:
  virtual ~TableReader() = default;
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  // Throws Error if the file cannot be read, is empty, has an unknown ending, or a heading that names no columns.
  static std::unique_ptr<TableReader> open(const std::filesystem::path& path, const TableOptions& options = {});
  // The same of bytes that come from elsewhere.
  static std::unique_ptr<TableReader> of(std::unique_ptr<ByteSource> source, TableFormat format,
                                         const TableOptions& options = {});

  TableFormat format() const { return format_; }
  const std::string& name() const { return lines_.source().name(); }
  // `text` for txt. Of jsonl the keys that were met, so it may grow with each row.
  const std::vector<std::string>& columns() const { return columns_; }
  // The place of a column in columns(), if it is there.
  std::optional<std::size_t> find_column(std::string_view name) const;

  // Reads the next row, a blank one or one at fault included; false at the end. Throws Error as ByteSource does.
  bool next(Row& row);

  std::uint64_t consumed() const { return lines_.source().consumed(); }

 protected:
  TableReader(std::unique_ptr<ByteSource> source, TableFormat format, const TableOptions& options);

  // Joins the lines that belong to the row; sets its fault if that cannot be done.
  virtual void gather(Row&) {}
  // Fills the cells from lines_.line(), which is valid UTF-8 without zero bytes, or sets the fault.
  virtual void parse(Row& row) = 0;

  LineReader lines_;
  std::vector<std::string> columns_;

 private:
  TableFormat format_;
};

}  // namespace semfuse
