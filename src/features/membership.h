// How much a value belongs to a fuzzy set: 1 at the centre, falling with the distance from it.
#pragma once

#include <algorithm>
#include <cmath>

#include "semfuse/feature_bank.h"

namespace semfuse {

// base^(|x - center| / bandwidth), in (0, 1] for base in (0, 1) and bandwidth above 0.
inline double membership(double x, double center, double bandwidth, double base) {
  return std::pow(base, std::abs(x - center) / bandwidth);
}

// The same with the kernel of the options.
inline double membership(double x, double center, const FeatureOptions& options) {
  const double distance = std::abs(x - center) / options.bandwidth;
  switch (options.kernel) {
    case MembershipKernel::triangular:
      return std::max(0.0, 1.0 - distance);
    case MembershipKernel::gaussian:
      return std::exp(-0.5 * distance * distance);
    default:
      return membership(x, center, options.bandwidth, options.kernel_base);
  }
}

}  // namespace semfuse
