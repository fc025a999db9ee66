// The texts of one or several files with the columns that are asked for, one after the other.
//
//   RecordReader reader({"a.tsv.gz", "b.jsonl"}, {.columns = {"stars"}});
//   for (Record record; reader.next(record);) use(record.text, record.cells[0].text);
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/table_reader.h"
#include "data/text_column.h"

namespace semfuse {

struct RecordOptions {
  std::string text_column;           // Empty: find_text_column of the first file that is no .txt decides.
  std::vector<std::string> columns;  // What is asked for besides the text, by name.
  // Rows at fault are counted and passed over instead of refused. For data that others made and nobody mends.
  bool skip_bad = false;
  TableOptions table;  // Of every file.
};

// Valid until the next one is read, unless it is one of a RecordBlock.
struct Record {
  std::string_view text;    // Valid UTF-8, not empty, no zero byte; may have line ends inside (csv, jsonl).
  std::vector<Cell> cells;  // As RecordOptions::columns; kind absent where a JSON object has no such key.
  std::size_t file = 0;     // Its place in the list of files,
  std::size_t line = 0;     // and the line that it begins at, from 1.
};

// Records that own their bytes: to be worked on by another thread while more are read.
struct RecordBlock {
  std::vector<Record> records;
  std::string bytes;  // What the records point into.
};

struct RecordCounts {
  std::uint64_t texts = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t empty = 0;             // Blank lines and rows with an empty text: no fault, but no text.
  std::uint64_t bad = 0;               // Rows at fault that were passed over.
  std::vector<std::string> first_bad;  // The first few of them: "reviews.tsv:12: has 3 cells, ...".
};

// One pass over files in their order; memory does not depend on their size. Not thread-safe.
class RecordReader {
 public:
  // Throws Error if there is no file, a file is missing, of unknown kind, or lacks a column.
  RecordReader(std::vector<std::filesystem::path> files, RecordOptions options);

  // False after the last record. Throws Error ("file:line: what; what to do") for a row at fault unless skip_bad is
  // set, for a file that holds no text, changes or breaks off, and for a key that no row of a jsonl has.
  bool next(Record& record);

  // Fills the block with the next records, about max_bytes of them, at least one; false if there is none.
  bool next_block(RecordBlock& block, std::size_t max_bytes = std::size_t{1} << 20);

  // "reviews.tsv:12", to begin a message with.
  std::string place(const Record& record) const;

  const std::vector<std::filesystem::path>& files() const { return files_; }
  const TextColumn& text_column() const { return text_column_; }
  const RecordCounts& counts() const { return counts_; }  // So far.

  // Bytes of the files themselves, packed or not, for a progress bar.
  std::uint64_t bytes_read() const { return bytes_before_ + (table_ ? table_->consumed() : 0); }
  std::uint64_t bytes_total() const { return bytes_total_; }

 private:
  void open_next();
  void close();
  std::size_t require_column(const std::string& name) const;
  void find_columns();
  bool fill(Record& record);
  void refuse(std::size_t line, std::string_view what);

  std::vector<std::filesystem::path> files_;
  RecordOptions options_;
  TextColumn text_column_;
  std::unique_ptr<TableReader> table_;  // The open file.
  std::size_t file_ = 0;                // Its place.
  std::uint64_t texts_before_ = 0;      // Before this file.
  std::vector<std::size_t> places_;     // In the table: of the text, then of each column; kUnknown in a jsonl.
  std::string first_fault_;             // Of this file, if it has given no text yet.
  Row row_;
  RecordCounts counts_;
  std::uint64_t bytes_before_ = 0;
  std::uint64_t bytes_total_ = 0;
};

}  // namespace semfuse
