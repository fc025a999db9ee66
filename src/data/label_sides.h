// Which labels count as positive and which as negative.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/column_summary.h"

namespace semfuse {

// Two sides of a column: numbers above and below the middle of their range; labels called positive, pos, good, yes or
// true and negative, neg, bad, no or false (in any case of letters), where all others are on no side; or one value
// against all others.
class LabelSides {
 public:
  // `positive`: the value of the positive side, if the person names it. Throws Error, which says what to do, if the
  // column does not tell two sides.
  LabelSides(const ColumnSummary& column, const std::optional<std::string>& positive);

  // 1 positive, -1 negative, 0 neither.
  int side(std::string_view label) const;
  // "above 3, against below 3"
  const std::string& meaning() const { return meaning_; }

 private:
  std::optional<std::string> positive_;
  bool numbers_ = false;
  double middle_ = 0.0;
  std::string meaning_;
};

}  // namespace semfuse
