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

// The same with the kernel of the options and a width of its own.
inline double membership(double x, double center, double width, const FeatureOptions& options) {
  const double distance = std::abs(x - center) / width;
  switch (options.kernel) {
    case MembershipKernel::triangular:
      return std::max(0.0, 1.0 - distance);
    case MembershipKernel::gaussian:
      return std::exp(-0.5 * distance * distance);
    default:
      return membership(x, center, width, options.kernel_base);
  }
}

// The same with the width of the options.
inline double membership(double x, double center, const FeatureOptions& options) {
  return membership(x, center, options.bandwidth, options);
}

struct MembershipDerivatives {
  double center;
  double width;
};

// Of membership(x, center, width, options), which is `degree`; 0 where |x - center| and the triangle have a kink.
inline MembershipDerivatives membership_derivatives(double x, double center, double width,
                                                    const FeatureOptions& options, double degree) {
  const double distance = std::abs(x - center) / width;
  double slope = 0.0;  // By the distance.
  switch (options.kernel) {
    case MembershipKernel::triangular:
      slope = distance < 1.0 ? -1.0 : 0.0;
      break;
    case MembershipKernel::gaussian:
      slope = -distance * degree;
      break;
    default:
      slope = std::log(options.kernel_base) * degree;
  }
  const double side = x > center ? 1.0 : x < center ? -1.0 : 0.0;
  return {.center = slope * -side / width, .width = slope * -distance / width};
}

}  // namespace semfuse
