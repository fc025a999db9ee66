#include "model/membership_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "features/graded_columns.h"
#include "features/membership.h"

namespace semfuse {
namespace {

// Centres lie between these: beyond [0, 1], so that one at an end can move to either side.
constexpr double kLowest = -0.5;
constexpr double kHighest = 1.5;
constexpr double kLargestFactor = 8.0;

constexpr std::size_t kLevels = std::tuple_size_v<decltype(Memberships::centers)>;
constexpr std::size_t kGaps = kLevels + 1;
constexpr std::size_t kAttributes = std::tuple_size_v<AttributeMemberships>;

// What a parameter multiplies by: 1 at 0, between 1/8 and 8 for all others.
double factor(float parameter) {
  return std::pow(kLargestFactor, std::tanh(static_cast<double>(parameter)));
}

// Of ln(factor) by the parameter.
double factor_slope(float parameter) {
  const double t = std::tanh(static_cast<double>(parameter));
  return std::log(kLargestFactor) * (1.0 - t * t);
}

// Gaps between the bounds and the centres as the options have them, each times its factor.
std::array<double, kGaps> scaled_gaps(const FeatureOptions& options, const float* parameters) {
  std::array<double, kGaps> gaps{};
  double before = kLowest;
  for (std::size_t j = 0; j < kGaps; ++j) {
    const double next = j < kLevels ? options.centers[j] : kHighest;
    gaps[j] = (next - before) * factor(parameters[j]);
    before = next;
  }
  return gaps;
}

double sum_of(const std::array<double, kGaps>& gaps) {
  double sum = 0.0;
  for (const double gap : gaps) sum += gap;
  return sum;
}

}  // namespace

MembershipLayer::MembershipLayer(ParameterLayout& layout, const FeatureOptions& options)
    : options_(options),
      gaps_(layout[layout.add("memberships.gaps", {kAttributes, kGaps})]),
      widths_(layout[layout.add("memberships.widths", {kAttributes, kLevels})]) {}

AttributeMemberships MembershipLayer::memberships(const ParameterBlock& weights) const {
  AttributeMemberships result;
  for (std::size_t a = 0; a < kAttributes; ++a) {
    // c_k = lowest + (highest - lowest) · Σ_{j ≤ k} gap_j / Σ_j gap_j
    const std::array<double, kGaps> gaps = scaled_gaps(options_, weights.matrix(gaps_).row(a));
    const double whole = sum_of(gaps);
    double below = 0.0;
    for (std::size_t k = 0; k < kLevels; ++k) {
      below += gaps[k];
      result[a].centers[k] = kLowest + (kHighest - kLowest) * (below / whole);
      result[a].widths[k] = options_.bandwidth * factor(weights.matrix(widths_)(a, k));
    }
  }
  return result;
}

void MembershipLayer::grade(const ParameterBlock& weights, ConstMatrix ungraded, Matrix rows) const {
  const AttributeMemberships now = memberships(weights);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::copy_n(ungraded.row(i), ungraded.cols(), rows.row(i));
    for (const auto& [column, attribute, level] : graded_columns()) {
      const float x = ungraded(i, column);
      const Memberships& m = now[attribute];
      const double degree = membership(static_cast<double>(x), m.centers[level], m.widths[level], options_);
      rows(i, column) = x == kNoAttribute ? 0.0f : static_cast<float>(degree);
    }
  }
}

void MembershipLayer::add_rows(const ParameterBlock& weights, ConstMatrix ungraded, ConstMatrix d_rows,
                               Gradient& gradient) const {
  const AttributeMemberships now = memberships(weights);
  for (std::size_t i = 0; i < ungraded.rows(); ++i) {
    for (const auto& [column, attribute, level] : graded_columns()) {
      if (ungraded(i, column) == kNoAttribute) continue;
      const auto x = static_cast<double>(ungraded(i, column));
      const double center = now[attribute].centers[level];
      const double width = now[attribute].widths[level];
      const MembershipDerivatives slopes =
          membership_derivatives(x, center, width, options_, membership(x, center, width, options_));
      const auto d_degree = static_cast<double>(d_rows(i, column));
      gradient[attribute].centers[level] += d_degree * slopes.center;
      gradient[attribute].widths[level] += d_degree * slopes.width;
    }
  }
}

void MembershipLayer::write_gradients(const ParameterBlock& weights, const Gradient& gradient,
                                      ParameterBlock& gradients) const {
  const AttributeMemberships now = memberships(weights);
  for (std::size_t a = 0; a < kAttributes; ++a) {
    const Memberships& d = gradient[a];
    const float* parameters = weights.matrix(gaps_).row(a);
    const std::array<double, kGaps> gaps = scaled_gaps(options_, parameters);
    const double whole = sum_of(gaps);
    for (std::size_t j = 0; j < kGaps; ++j) {
      // ∂c_k / ∂gap_j = ((highest - lowest) [j ≤ k] - (c_k - lowest)) / Σ gap
      double d_gap = 0.0;
      for (std::size_t k = 0; k < kLevels; ++k) {
        const double reaches = j <= k ? kHighest - kLowest : 0.0;
        d_gap += d.centers[k] * (reaches - (now[a].centers[k] - kLowest)) / whole;
      }
      gradients.matrix(gaps_)(a, j) = static_cast<float>(d_gap * gaps[j] * factor_slope(parameters[j]));
    }
    for (std::size_t k = 0; k < kLevels; ++k) {
      gradients.matrix(widths_)(a, k) =
          static_cast<float>(d.widths[k] * now[a].widths[k] * factor_slope(weights.matrix(widths_)(a, k)));
    }
  }
}

}  // namespace semfuse
