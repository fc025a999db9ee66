#include "data/data_description.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/byte_source.h"
#include "data/distinct_texts.h"
#include "data/knob_proposals.h"
#include "data/text_hash.h"
#include "data/word_scan.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestCounted = 10000;
constexpr std::size_t kMostExamples = 5;
constexpr std::uint64_t kRowsBetweenReports = 4096;

std::string_view without_spaces_behind(std::string_view text) {
  while (!text.empty() && is_space_byte(text.back())) text.remove_suffix(1);
  return text;
}

class Describer {
 public:
  explicit Describer(const DescribeOptions& options) : options_(options) {
    result_.text_column.name = options.text_column;
    result_.table = options.table;
  }

  void read(const fs::path& path) {
    const TableFormat format = options_.table.format ? *options_.table.format : table_format_of(path);
    if (format != TableFormat::txt && result_.text_column.name.empty()) {
      result_.text_column = find_text_column(path, options_.table);
    }
    const auto table = TableReader::open(path, options_.table);
    result_.files.push_back({.path = path, .format = format});
    std::vector<std::size_t> columns;  // By the table's: the place in the result's, or kText.
    Row row;
    while (!has_seen_enough(table->consumed()) && table->next(row)) {
      if (++rows_ % kRowsBetweenReports == 0 && options_.progress) options_.progress(done_ + table->consumed(), total_);
      if (row.fault) {
        note(*row.fault, table->name(), row.line);
        continue;
      }
      while (columns.size() < table->columns().size()) {
        columns.push_back(place_of(table->columns()[columns.size()], format));
      }
      std::string_view text;
      for (std::size_t c = 0; c < row.cells.size(); ++c) {
        if (columns[c] == kText) {
          text = row.cells[c].text;
        } else {
          result_.columns[columns[c]].add(row.cells[c]);
        }
      }
      add(text);
    }
    if (std::find(columns.begin(), columns.end(), kText) == columns.end() && !columns.empty()) {
      throw Error(fmt::format("{}: has no column {}; say which column is the text", table->name(),
                              quoted_text(result_.text_column.name)));
    }
    done_ += table->consumed();
  }

  void set_total(std::uint64_t bytes) { total_ = bytes; }

  DataDescription finish() {
    if (rows_ == 0) {
      throw Error(fmt::format("{}: is empty; name a file with texts", result_.files.front().path.string()));
    }
    if (result_.text_column.name.empty()) result_.text_column.name = "text";
    result_.tabs_in_lines = result_.texts > 0 && lines_with_tabs_ == result_.texts;
    result_.repeated = distinct_.repeated();
    result_.repeated_exact = distinct_.exact();
    result_.knobs = propose_knobs(result_);
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kText = static_cast<std::size_t>(-1);

  bool has_seen_enough(std::uint64_t consumed) const {
    return options_.most_bytes > 0 && rows_ > 0 && done_ + consumed >= options_.most_bytes;
  }

  std::size_t place_of(const std::string& column, TableFormat format) {
    if (format == TableFormat::txt || column == result_.text_column.name) return kText;
    const auto found = std::find_if(result_.columns.begin(), result_.columns.end(),
                                    [&](const ColumnSummary& summary) { return summary.name() == column; });
    const auto place = static_cast<std::size_t>(found - result_.columns.begin());
    if (found == result_.columns.end()) result_.columns.emplace_back(column);
    return place;
  }

  void note(const RowFault& fault, const std::string& name, std::size_t line) {
    auto found = std::find_if(result_.faults.begin(), result_.faults.end(),
                              [&](const FaultCount& count) { return count.kind == fault.kind; });
    if (found == result_.faults.end()) {
      result_.faults.push_back({.kind = fault.kind});
      found = result_.faults.end() - 1;
    }
    ++found->rows;
    if (found->first.size() < kMostExamples) found->first.push_back(fmt::format("{}:{}: {}", name, line, fault.what));
  }

  void add(std::string_view text) {
    if (options_.columns_only) return;
    std::size_t words = 0;
    for_each_word(text, [&words](std::string_view) { ++words; });
    if (words == 0) {
      ++result_.empty;
      return;
    }
    ++result_.texts;
    ++result_.files.back().texts;
    if (result_.files.back().format == TableFormat::txt && text.find('\t') != text.npos) ++lines_with_tabs_;
    result_.text_bytes += text.size();
    result_.lengths.add(words);
    distinct_.add(text_hash(text));
    const char last = without_spaces_behind(text).back();
    for (std::size_t m = 0; m < kFinalMarks.size(); ++m) result_.final_marks[m] += last == kFinalMarks[m] ? 1 : 0;
  }

  const DescribeOptions& options_;
  DataDescription result_;
  DistinctTexts distinct_;
  std::uint64_t rows_ = 0;
  std::uint64_t lines_with_tabs_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

void LengthCounts::add(std::size_t length) {
  const std::size_t counted = std::min(length, kLongestCounted + 1);
  if (counts_.size() <= counted) counts_.resize(counted + 1);
  ++counts_[counted];
  ++total_;
  sum_ += length;
  longest_ = std::max(longest_, length);
}

double LengthCounts::mean() const {
  return total_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(total_);
}

std::size_t LengthCounts::quantile(double share) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
  std::uint64_t below = 0;
  for (std::size_t length = 0; length < counts_.size() && length <= kLongestCounted; ++length) {
    below += counts_[length];
    if (below >= wanted && below > 0) return length;
  }
  return longest_;
}

std::string_view to_string(RowFault::Kind kind) {
  switch (kind) {
    case RowFault::Kind::not_utf8:
      return "not UTF-8";
    case RowFault::Kind::zero_byte:
      return "zero byte";
    case RowFault::Kind::too_long:
      return "too long";
    case RowFault::Kind::wrong_cells:
      return "wrong number of cells";
    case RowFault::Kind::bad_quotes:
      return "quotes";
    case RowFault::Kind::bad_json:
      break;
  }
  return "no JSON object";
}

DataDescription describe_data(const std::vector<fs::path>& files, const DescribeOptions& options) {
  if (files.empty()) throw Error("no file of data is named; name at least one");
  Describer describer(options);
  std::uint64_t total = 0;
  for (const fs::path& file : files) total += size_of_bytes(file);
  describer.set_total(total);
  for (const fs::path& file : files) describer.read(file);
  return describer.finish();
}

}  // namespace semfuse
