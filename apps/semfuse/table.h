// Rows of cells in aligned columns that fit the width they are shown in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "terminal.h"

namespace semfuse {

class Table {
 public:
  enum class Align { left, right };
  struct Cell {
    std::string text;
    bool dim = false;
  };

  // A column past the last of `alignments` takes the last one.
  explicit Table(std::vector<Align> alignments) : alignments_(std::move(alignments)) {}

  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }

  // Columns `gap` apart if they fit terminal.width(), else one apart. If that is too wide, a last column of text is
  // broken into lines; where it is not the last column's fault, the columns come in several tables one below the other,
  // each with the first column.
  std::string text(const Terminal& terminal, std::size_t indent, std::size_t gap) const;

 private:
  using Widths = std::vector<std::size_t>;

  Widths column_widths() const;
  bool is_right(std::size_t column) const {
    return alignments_[std::min(column, alignments_.size() - 1)] == Align::right;
  }
  std::string text(const Terminal& terminal, std::size_t indent, std::size_t gap, const Widths& widths,
                   const std::vector<std::size_t>& columns) const;

  std::vector<Align> alignments_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace semfuse
