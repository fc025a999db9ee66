#include "table.h"

#include <algorithm>
#include <numeric>

namespace semfuse {
namespace {

// A column of text narrower than this is hard to read.
constexpr std::size_t kNarrowestText = 20;

}  // namespace

Table::Widths Table::column_widths() const {
  Widths widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], num_characters(row[i].text));
  }
  return widths;
}

std::string Table::text(const Terminal& terminal, std::size_t indent, std::size_t gap) const {
  Widths widths = column_widths();
  std::vector<std::size_t> columns(widths.size());
  std::iota(columns.begin(), columns.end(), 0);
  const std::size_t room = terminal.width();
  // With the gap before it, so that a sum over columns is the width of a line.
  const auto taken = [&](std::size_t column) { return (column == 0 ? indent : gap) + widths[column]; };
  const auto taken_by_all = [&] {
    return std::accumulate(columns.begin(), columns.end(), std::size_t{0},
                           [&](std::size_t sum, std::size_t column) { return sum + taken(column); });
  };
  if (taken_by_all() > room) gap = std::min<std::size_t>(gap, 1);
  const std::size_t all = taken_by_all();
  if (columns.empty() || all <= room) return text(terminal, indent, gap, widths, columns);

  const std::size_t before_last = all - widths.back();
  if (!is_right(columns.back()) && before_last + kNarrowestText <= room) {
    widths.back() = room - before_last;
    return text(terminal, indent, gap, widths, columns);
  }
  std::string result;
  for (std::size_t next = 1; next < widths.size();) {
    std::vector<std::size_t> some = {0};
    for (std::size_t line = taken(0); next < widths.size() && (some.size() == 1 || line + taken(next) <= room);
         ++next) {
      line += taken(next);
      some.push_back(next);
    }
    result += (result.empty() ? "" : "\n") + text(terminal, indent, gap, widths, some);
  }
  return result;
}

std::string Table::text(const Terminal& terminal, std::size_t indent, std::size_t gap, const Widths& widths,
                        const std::vector<std::size_t>& columns) const {
  std::string result;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    std::size_t begin = indent;  // Of the column.
    for (const std::size_t column : columns) {
      if (column >= row.size()) break;
      const Cell& cell = row[column];
      const std::size_t length = num_characters(cell.text);
      const std::string padding(widths[column] - std::min(length, widths[column]), ' ');
      if (is_right(column)) line += padding;
      if (length > widths[column]) {
        line += broken(cell.text, begin + widths[column], begin, begin);
      } else {
        line += cell.dim ? terminal.dim(cell.text) : cell.text;
      }
      if (!is_right(column)) line += padding;
      line.append(gap, ' ');
      begin += widths[column] + gap;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  }
  return result;
}

}  // namespace semfuse
