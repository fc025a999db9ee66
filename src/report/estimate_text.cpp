#include "report/estimate_text.h"

#include <fmt/format.h>

#include <cmath>

namespace semfuse {

std::string estimate_text(const Estimate& value, int digits) {
  if (std::isnan(value.mean)) return "–";
  if (std::isnan(value.high)) return fmt::format("{:.{}f}", value.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", value.mean, digits, value.high - value.mean, digits);
}

}  // namespace semfuse
