// A number of JSON, exactly as written in tens: nothing is rounded.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace semfuse {

struct Decimal {
  bool negative = false;  // Not for zero.
  std::string whole;      // Digits before the point, without leading zeros: empty for zero.
  std::string fraction;   // Behind it, without trailing zeros.

  // Of valid JSON. Throws Error, without a place, if it has more than a few hundred digits when written out.
  static Decimal parse(std::string_view number);

  bool is_zero() const { return whole.empty() && fraction.empty(); }
  bool is_whole() const { return fraction.empty(); }
  Decimal negated() const;
  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;
};

}  // namespace semfuse
