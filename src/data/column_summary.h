// What a column of a table holds, found while its cells pass by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/table_reader.h"

namespace semfuse {

enum class ColumnKind {
  empty,   // No cell holds anything.
  number,  // Every cell that is not empty is a number.
  label,   // One of a few values.
  text,    // Anything else.
  nested   // Lists or objects, which are not read.
};

std::string_view to_string(ColumnKind kind);

class ColumnSummary {
 public:
  static constexpr std::size_t kMostValues = 100;  // More different values are no labels.

  explicit ColumnSummary(std::string name) : name_(std::move(name)) {}

  void add(const Cell& cell);

  const std::string& name() const { return name_; }
  ColumnKind kind() const;
  std::uint64_t filled() const { return filled_; }  // Cells that hold something.
  double mean_bytes() const;                        // Of those.
  double low() const { return low_; }               // Of a number.
  double high() const { return high_; }
  bool whole() const { return whole_; }  // Every number is a whole one.
  // The different values, most frequent first; empty if there are more than kMostValues.
  std::vector<std::pair<std::string, std::uint64_t>> values() const;

 private:
  std::string name_;
  std::uint64_t filled_ = 0;
  std::uint64_t numbers_ = 0;
  std::uint64_t nested_ = 0;
  std::uint64_t bytes_ = 0;
  double low_ = 0.0;
  double high_ = 0.0;
  bool whole_ = true;
  std::map<std::string, std::uint64_t, std::less<>> values_;
  bool many_values_ = false;
};

}  // namespace semfuse
