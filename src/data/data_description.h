// What is in files that people bring: texts, lengths, columns, faults, and which knobs could be made of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/column_summary.h"
#include "data/table_reader.h"
#include "data/text_column.h"

namespace semfuse {

struct DescribeOptions {
  std::string text_column;  // Empty: found, as RecordReader does.
  TableOptions table;
  // Only columns, and knobs of them: nothing is said of the texts. For who wants to train on them at once.
  bool columns_only = false;
  // Reads no more once so many bytes of the files are read: a first look. 0: all.
  std::uint64_t most_bytes = 0;
  // Told now and then how many bytes of the files were read, and how many there are.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

// Numbers of words in a text: how long texts are.
class LengthCounts {
 public:
  void add(std::size_t length);
  std::uint64_t total() const { return total_; }
  double mean() const;
  // The length that `share` of texts do not exceed; exact to 10,000 words, the longest text's beyond.
  std::size_t quantile(double share) const;

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t sum_ = 0;
  std::size_t longest_ = 0;
};

// Rows of one kind of fault.
struct FaultCount {
  RowFault::Kind kind;
  std::uint64_t rows = 0;
  std::vector<std::string> first;  // The first few: "reviews.tsv:12: has 3 cells, ...".
};

// A knob that training could learn, as a configuration declares it.
struct KnobProposal {
  std::string knob;  // "stars: scalar of column stars from 1 to 5"
  std::string why;   // "numbers from 1 to 5"
  // What it is read from; empty if from the text itself.
  std::string column = {};
};

struct DataDescription {
  struct File {
    std::filesystem::path path;
    TableFormat format;
    std::uint64_t texts = 0;
  };
  std::vector<File> files;
  TableOptions table;  // How they were read.
  TextColumn text_column;
  std::uint64_t texts = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t empty = 0;                     // Blank lines and rows without text.
  std::uint64_t repeated = 0;                  // Texts that were there before.
  bool repeated_exact = true;                  // Else an estimate: there are millions of texts.
  LengthCounts lengths;                        // In words and marks.
  std::array<std::uint64_t, 3> final_marks{};  // Texts that end in . ! ?
  std::vector<ColumnSummary> columns;          // But the text's, in the order of the files.
  std::vector<FaultCount> faults;
  std::vector<KnobProposal> knobs;
  // Files of a text a line, and a tab in each: they are rather tables.
  bool tabs_in_lines = false;
};

inline constexpr std::array<char, 3> kFinalMarks = {'.', '!', '?'};

// "not UTF-8", "zero byte", ...
std::string_view to_string(RowFault::Kind kind);

// Reads the files once; what it needs of memory does not depend on their size. Rows at fault are counted, not refused.
// Throws Error if a file cannot be read or lacks the text's column, or if no file has a row.
DataDescription describe_data(const std::vector<std::filesystem::path>& files, const DescribeOptions& options = {});

// A commented configuration (TOML) to train with, for the person to edit. Files are named as seen from `folder`, where
// it is to be written.
std::string draft_configuration(const DataDescription& description, const std::filesystem::path& folder);

}  // namespace semfuse
