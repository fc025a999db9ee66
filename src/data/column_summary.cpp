#include "data/column_summary.h"

#include <algorithm>
#include <cmath>

#include "core/number_text.h"

namespace semfuse {
namespace {

constexpr std::size_t kLongestLabel = 64;

}  // namespace

std::string_view to_string(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::empty:
      return "empty";
    case ColumnKind::number:
      return "number";
    case ColumnKind::label:
      return "label";
    case ColumnKind::nested:
      return "nested";
    case ColumnKind::text:
      break;
  }
  return "text";
}

void ColumnSummary::add(const Cell& cell) {
  if (cell.kind == Cell::Kind::nested) ++nested_;
  if (cell.kind == Cell::Kind::absent || cell.kind == Cell::Kind::nested || cell.text.empty()) return;
  ++filled_;
  bytes_ += cell.text.size();
  // Once a cell was no number, the column is no column of numbers.
  if (numbers_ + 1 == filled_ && cell.kind != Cell::Kind::boolean) {
    if (const auto number = number_of(cell.text)) {
      low_ = numbers_ == 0 ? *number : std::min(low_, *number);
      high_ = numbers_ == 0 ? *number : std::max(high_, *number);
      whole_ = whole_ && std::floor(*number) == *number;
      ++numbers_;
    }
  }
  if (many_values_) return;
  if (const auto found = values_.find(cell.text); found != values_.end()) {
    ++found->second;
  } else if (values_.size() == kMostValues || cell.text.size() > kLongestLabel) {
    many_values_ = true;
    values_.clear();
  } else {
    values_.emplace(cell.text, 1);
  }
}

ColumnKind ColumnSummary::kind() const {
  if (filled_ == 0) return nested_ > 0 ? ColumnKind::nested : ColumnKind::empty;
  if (numbers_ == filled_) return ColumnKind::number;
  // Values that hardly come back are no labels.
  if (!many_values_ && values_.size() * 2 <= filled_) return ColumnKind::label;
  return ColumnKind::text;
}

double ColumnSummary::mean_bytes() const {
  return filled_ == 0 ? 0.0 : static_cast<double>(bytes_) / static_cast<double>(filled_);
}

std::vector<std::pair<std::string, std::uint64_t>> ColumnSummary::values() const {
  std::vector<std::pair<std::string, std::uint64_t>> values(values_.begin(), values_.end());
  std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return values;
}

}  // namespace semfuse
