#include "data/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/nearest_word.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
constexpr std::size_t kMostReported = 5;

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

RecordReader::RecordReader(std::vector<fs::path> files, RecordOptions options)
    : files_(std::move(files)), options_(std::move(options)) {
  if (files_.empty()) throw Error("no file of data is named; name at least one");
  text_column_.name = options_.text_column;
  for (const fs::path& file : files_) {
    const TableFormat format = options_.table.format ? *options_.table.format : table_format_of(file);
    bytes_total_ += size_of_bytes(file);
    if (text_column_.name.empty() && format != TableFormat::txt) {
      text_column_ = find_text_column(file, options_.table);
    }
  }
  if (text_column_.name.empty()) text_column_.name = "text";
  open_next();
}

std::size_t RecordReader::require_column(const std::string& name) const {
  if (const auto place = table_->find_column(name)) return *place;
  if (table_->format() == TableFormat::jsonl) return kUnknown;
  std::vector<std::string> known;
  for (const std::string& column : table_->columns()) known.push_back(quoted_text(column));
  throw Error(fmt::format("{}: has no column {}; it has {}{}", table_->name(), quoted_text(name),
                          fmt::join(known, ", "), did_you_mean(name, table_->columns())));
}

// Keys of a jsonl become known while it is read.
void RecordReader::find_columns() {
  const bool is_text = table_->format() == TableFormat::txt;
  places_.assign(1, is_text ? 0 : require_column(text_column_.name));
  for (const std::string& column : options_.columns) places_.push_back(require_column(column));
}

void RecordReader::open_next() {
  table_ = TableReader::open(files_[file_], options_.table);
  texts_before_ = counts_.texts;
  first_fault_.clear();
  find_columns();
}

void RecordReader::close() {
  if (table_->format() == TableFormat::jsonl && counts_.texts > texts_before_) {
    find_columns();
    const auto missing = std::find(places_.begin() + 1, places_.end(), kUnknown);
    if (missing != places_.end()) {
      const std::string& name = options_.columns[static_cast<std::size_t>(missing - places_.begin()) - 1];
      throw Error(fmt::format("{}: no object has the key {}; the keys are {}{}", table_->name(), quoted_text(name),
                              quoted_text(fmt::format("{}", fmt::join(table_->columns(), ", ")), 200),
                              did_you_mean(name, table_->columns())));
    }
  }
  bytes_before_ += table_->consumed();
  if (counts_.texts == texts_before_) {
    const std::string what = first_fault_.empty()
                                 ? fmt::format("{}: holds no text; name a file with one text or more", table_->name())
                                 : fmt::format("{}; no row of the file can be used", first_fault_);
    if (!options_.skip_bad || files_.size() == 1) throw Error(what);
    if (counts_.first_bad.size() < kMostReported) counts_.first_bad.push_back(what);
    ++counts_.bad;
  }
  table_.reset();
}

void RecordReader::refuse(std::size_t line, std::string_view what) {
  const bool is_first = counts_.texts == texts_before_ && first_fault_.empty();
  const bool keep = !options_.skip_bad || is_first || counts_.first_bad.size() < kMostReported;
  const std::string message = keep ? fmt::format("{}:{}: {}", table_->name(), line, what) : std::string();
  if (!options_.skip_bad) throw Error(message + ", or leave out such rows with --skip-bad");
  if (is_first) first_fault_ = message;
  if (counts_.first_bad.size() < kMostReported) counts_.first_bad.push_back(message);
  ++counts_.bad;
}

// False if the row gives no record.
bool RecordReader::fill(Record& record) {
  if (row_.fault) {
    refuse(row_.line, row_.fault->what);
    return false;
  }
  const bool growing = std::find(places_.begin(), places_.end(), kUnknown) != places_.end();
  if (growing && !row_.blank) find_columns();
  record.cells.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Cell cell = places_[i] < row_.cells.size() ? row_.cells[places_[i]] : Cell();
    const std::string& name = i == 0 ? text_column_.name : options_.columns[i - 1];
    if (!row_.blank && cell.kind == Cell::Kind::nested) {
      refuse(row_.line, fmt::format("{} is a list or an object; it must be a text or a number", quoted_text(name)));
      return false;
    }
    if (cell.text.find('\0') != cell.text.npos) {  // As \u0000 in JSON.
      refuse(row_.line, fmt::format("{} has a zero byte, which no text has; remove it", quoted_text(name)));
      return false;
    }
    if (i > 0) {
      record.cells.push_back(cell);
      continue;
    }
    if (!row_.blank && cell.kind == Cell::Kind::absent) {
      refuse(row_.line, fmt::format("has no {}, which is where the text should be", quoted_text(name)));
      return false;
    }
    record.text = cell.text;
  }
  if (std::all_of(record.text.begin(), record.text.end(), is_space)) {
    ++counts_.empty;
    return false;
  }
  record.file = file_;
  record.line = row_.line;
  ++counts_.texts;
  counts_.text_bytes += record.text.size();
  return true;
}

bool RecordReader::next(Record& record) {
  while (file_ < files_.size()) {
    if (!table_) open_next();
    while (table_->next(row_)) {
      if (fill(record)) return true;
    }
    close();
    ++file_;
  }
  if (counts_.texts == 0) throw Error(fmt::format("{}: no file holds a text", files_.front().string()));
  return false;
}

bool RecordReader::next_block(RecordBlock& block, std::size_t max_bytes) {
  block.records.clear();
  block.bytes.clear();
  Record record;
  while (block.bytes.size() < max_bytes && next(record)) {
    block.bytes += record.text;
    for (const Cell& cell : record.cells) block.bytes += cell.text;
    block.records.push_back(record);
  }
  // The bytes stay where they are from here on.
  const char* place = block.bytes.data();
  const auto settle = [&place](std::string_view& text) {
    text = {place, text.size()};
    place += text.size();
  };
  for (Record& kept : block.records) {
    settle(kept.text);
    for (Cell& cell : kept.cells) settle(cell.text);
  }
  return !block.records.empty();
}

std::string RecordReader::place(const Record& record) const {
  return fmt::format("{}:{}", files_[record.file].string(), record.line);
}

}  // namespace semfuse
