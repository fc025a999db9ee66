#include "data/label_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/number_text.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

int side_by_name(std::string_view label) {
  constexpr std::array<std::string_view, 5> kPositive = {"positive", "pos", "good", "yes", "true"};
  constexpr std::array<std::string_view, 5> kNegative = {"negative", "neg", "bad", "no", "false"};
  std::string lower(label);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (std::find(kPositive.begin(), kPositive.end(), lower) != kPositive.end()) return 1;
  return std::find(kNegative.begin(), kNegative.end(), lower) != kNegative.end() ? -1 : 0;
}

std::string list_of(const ColumnSummary& column) {
  std::vector<std::string> labels;
  for (const auto& [label, count] : column.values()) labels.push_back(quoted_text(label, 20));
  if (labels.size() > 10) labels.resize(10);
  return fmt::format("{}", fmt::join(labels, ", "));
}

}  // namespace

LabelSides::LabelSides(const ColumnSummary& column, const std::optional<std::string>& positive) : positive_(positive) {
  const auto values = column.values();
  const std::string name = quoted_text(column.name());
  if (positive_) {
    const auto is_it = [&](const auto& value) { return value.first == *positive_; };
    if (!values.empty() && std::none_of(values.begin(), values.end(), is_it)) {
      throw Error(
          fmt::format("the column {} never says {}; it says {}", name, quoted_text(*positive_), list_of(column)));
    }
    if (values.size() == 1)
      throw Error(
          fmt::format("the column {} says {} everywhere; it needs a second label", name, quoted_text(*positive_)));
    meaning_ = fmt::format("{} is {}, against all others", name, quoted_text(*positive_));
    return;
  }
  if (column.kind() == ColumnKind::number) {
    if (column.low() == column.high()) {
      throw Error(fmt::format("the column {} says {} everywhere; it needs a second label", name, column.low()));
    }
    numbers_ = true;
    middle_ = column.low() + (column.high() - column.low()) / 2.0;
    meaning_ = fmt::format("{} above {}, against below", name, middle_);
    return;
  }
  if (column.kind() == ColumnKind::empty) throw Error(fmt::format("the column {} is empty; name another", name));
  if (values.empty()) {
    throw Error(fmt::format("the column {} has more than {} different values; name one of labels or numbers", name,
                            ColumnSummary::kMostValues));
  }
  const auto has_side = [&values](int side) {
    return std::any_of(values.begin(), values.end(), [side](const auto& v) { return side_by_name(v.first) == side; });
  };
  if (!has_side(1) || !has_side(-1)) {
    throw Error(fmt::format("the column {} does not tell which label is positive; say it (--positive) with one of {}",
                            name, list_of(column)));
  }
  meaning_ = fmt::format("{} is positive, pos, good, yes or true, against their opposites", name);
}

int LabelSides::side(std::string_view label) const {
  if (label.empty()) return 0;
  if (positive_) return label == *positive_ ? 1 : -1;
  if (!numbers_) return side_by_name(label);
  const auto number = number_of(label);
  if (!number) return 0;
  return *number > middle_ ? 1 : *number < middle_ ? -1 : 0;
}

}  // namespace semfuse
