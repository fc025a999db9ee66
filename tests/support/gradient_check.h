// Exact derivatives of the plain twin by the complex step, and their comparison with what the engine computes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "support/reference_model.h"

namespace semfuse {

// The gradient of objective(tables) at `at`: f(x + ih) = f(x) + ih f'(x), without any cancellation, so h may be tiny.
// `objective` takes Tables<std::complex<double>>. Tables for which `wanted` is false are left out.
template <class Objective, class Wanted>
reference::Tables<double> complex_step(const reference::Tables<double>& at, const Objective& objective,
                                       const Wanted& wanted) {
  constexpr double kStep = 1e-40;
  reference::Tables<std::complex<double>> tables;
  for (const auto& [name, table] : at) {
    reference::Table<std::complex<double>> copy(table.rows, table.cols);
    std::copy(table.numbers.begin(), table.numbers.end(), copy.numbers.begin());
    tables[name] = std::move(copy);
  }
  reference::Tables<double> gradient;
  for (auto& [name, table] : tables) {
    if (!wanted(name)) continue;
    reference::Table<double> derivatives(table.rows, table.cols);
    for (std::size_t n = 0; n < table.numbers.size(); ++n) {
      table.numbers[n].imag(kStep);
      derivatives.numbers[n] = std::complex<double>(objective(tables)).imag() / kStep;
      table.numbers[n].imag(0.0);
    }
    gradient[name] = std::move(derivatives);
  }
  return gradient;
}

template <class Objective>
reference::Tables<double> complex_step(const reference::Tables<double>& at, const Objective& objective) {
  return complex_step(at, objective, [](const std::string&) { return true; });
}

// Each table within `tolerance` of its largest number, and not all zeros unless both are.
inline void expect_close(const reference::Tables<double>& engine, const reference::Tables<double>& twin,
                         double tolerance = 1e-4) {
  for (const auto& [name, expected] : twin) {
    const auto found = engine.find(name);
    ASSERT_NE(found, engine.end()) << "the engine has no gradient of " << name;
    ASSERT_EQ(found->second.numbers.size(), expected.numbers.size()) << name;
    double largest = 0.0;
    for (const double x : expected.numbers) largest = std::max(largest, std::abs(x));
    EXPECT_GT(largest, 1e-9) << name << " has no gradient, so its test shows nothing";
    double worst = 0.0;
    std::size_t place = 0;
    for (std::size_t n = 0; n < expected.numbers.size(); ++n) {
      const double difference = std::abs(found->second.numbers[n] - expected.numbers[n]);
      if (!(difference <= worst)) {
        worst = std::isnan(difference) ? INFINITY : difference;
        place = n;
      }
    }
    EXPECT_LE(worst, tolerance * largest)
        << "gradient of " << name << " at " << place << ": engine " << found->second.numbers[place] << ", twin "
        << expected.numbers[place] << ", largest " << largest;
  }
}

}  // namespace semfuse
