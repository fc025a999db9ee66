#include "evaluation/statistics.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

namespace semfuse {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Variance of the mean: s² / n.
double variance_of_mean(std::span<const double> values) {
  const double mean = mean_of(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return sum / (n - 1.0) / n;
}

// P(|T| <= t) for Student's t: the integral of the density by Simpson's rule, in the angle atan(t / √f), where it is
// smooth and bounded.
double central_probability(double t, double freedom) {
  constexpr int kSteps = 2000;
  const double angle = std::atan(t / std::sqrt(freedom));
  const auto density = [&](double theta) { return std::pow(std::cos(theta), freedom - 1.0); };
  double sum = density(0.0) + density(angle);
  for (int i = 1; i < kSteps; ++i) sum += density(angle * i / kSteps) * (i % 2 == 1 ? 4.0 : 2.0);
  const double integral = sum * angle / kSteps / 3.0;
  const double log_norm = std::lgamma((freedom + 1.0) / 2.0) - std::lgamma(freedom / 2.0) - 0.5 * std::log(M_PI);
  return 2.0 * integral * std::exp(log_norm);
}

}  // namespace

double student_t(double freedom) {
  double low = 1.9;
  double high = 13.0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2.0;
    (central_probability(middle, freedom) < 0.95 ? low : high) = middle;
  }
  return (low + high) / 2.0;
}

Estimate estimate(std::span<const double> values) {
  if (values.empty()) return {kNone, kNone, kNone};
  const double mean = mean_of(values);
  if (values.size() == 1) return {mean, kNone, kNone};
  const double half = student_t(static_cast<double>(values.size()) - 1.0) * std::sqrt(variance_of_mean(values));
  return {mean, mean - half, mean + half};
}

Estimate paired_difference(std::span<const double> first, std::span<const double> second) {
  assert(first.size() == second.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < first.size(); ++i) differences.push_back(second[i] - first[i]);
  return estimate(differences);
}

Estimate welch_difference(std::span<const double> first, std::span<const double> second) {
  if (first.size() < 2 || second.size() < 2) return {kNone, kNone, kNone};
  const double difference = mean_of(second) - mean_of(first);
  const double a = variance_of_mean(first);
  const double b = variance_of_mean(second);
  if (a + b == 0.0) return {difference, difference, difference};
  const double freedom =
      (a + b) * (a + b) /
      (a * a / (static_cast<double>(first.size()) - 1.0) + b * b / (static_cast<double>(second.size()) - 1.0));
  const double half = student_t(freedom) * std::sqrt(a + b);
  return {difference, difference - half, difference + half};
}

}  // namespace semfuse
