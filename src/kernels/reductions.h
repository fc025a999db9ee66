// Sums over rows and arrays, each in a fixed order.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"

namespace semfuse {

// sums [cols] (+)= the sum of each column of x
void column_sums(ConstMatrix x, float* sums, bool accumulate = false);

// Σ x², each lane summed in float, the lanes in double.
double sum_of_squares(const float* x, std::size_t size);

}  // namespace semfuse
