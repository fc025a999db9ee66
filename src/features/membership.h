// How much a value belongs to a fuzzy set: 1 at the centre, falling by the factor `base` with every bandwidth away from
// it.
#pragma once

#include <cmath>

namespace semfuse {

// base^(|x - center| / bandwidth), in (0, 1] for base in (0, 1) and bandwidth above 0.
inline double membership(double x, double center, double bandwidth, double base) {
  return std::pow(base, std::abs(x - center) / bandwidth);
}

}  // namespace semfuse
