#include "grammar/decimal.h"

#include <cstdlib>

#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kMostDigits = 400;

std::strong_ordering compare_sizes(const Decimal& a, const Decimal& b) {
  if (a.whole.size() != b.whole.size()) return a.whole.size() <=> b.whole.size();
  if (const int order = a.whole.compare(b.whole); order != 0) return order <=> 0;
  return a.fraction.compare(b.fraction) <=> 0;
}

}  // namespace

Decimal Decimal::parse(std::string_view number) {
  Decimal decimal;
  if (number.starts_with('-')) {
    decimal.negative = true;
    number.remove_prefix(1);
  }
  long exponent = 0;
  if (const std::size_t e = number.find_first_of("eE"); e != number.npos) {
    exponent = std::strtol(std::string(number.substr(e + 1)).c_str(), nullptr, 10);
    number = number.substr(0, e);
  }
  const std::size_t point = number.find('.');
  std::string digits(number.substr(0, point));
  long scale = 0;  // Digits of the fraction.
  if (point != number.npos) {
    digits += number.substr(point + 1);
    scale = static_cast<long>(number.size() - point - 1);
  }
  if (digits.find_first_not_of('0') == digits.npos) return {};
  const auto most = static_cast<long>(kMostDigits);
  if (digits.size() > kMostDigits || exponent > most || exponent < -most)
    throw Error("this number has too many digits; choose one that is shorter when written out");
  scale -= exponent;
  if (scale < 0) {
    digits.append(static_cast<std::size_t>(-scale), '0');
    scale = 0;
  }
  const auto fraction = static_cast<std::size_t>(scale);
  if (digits.size() < fraction) digits.insert(0, fraction - digits.size(), '0');
  decimal.whole = digits.substr(0, digits.size() - fraction);
  decimal.fraction = digits.substr(digits.size() - fraction);
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  return decimal;
}

Decimal Decimal::negated() const {
  Decimal result = *this;
  result.negative = !negative && !is_zero();
  return result;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (negative != other.negative) return negative ? std::strong_ordering::less : std::strong_ordering::greater;
  return negative ? compare_sizes(other, *this) : compare_sizes(*this, other);
}

}  // namespace semfuse
