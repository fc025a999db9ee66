// Sums over rows and arrays, each in a fixed order; largest numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/matrix_view.h"

namespace semfuse {

// sums [cols] (+)= the sum of each column of x
void column_sums(ConstMatrix x, float* sums, bool accumulate = false);

// Σ x², each lane summed in float, the lanes in double.
double sum_of_squares(const float* x, std::size_t size);

// The largest sign · x_j of those whose gate_j is `least` or more; minus infinity if there is none.
float largest_where(const float* x, float sign, const float* gate, float least, std::size_t size);

// The places of those that are `least` or more, ascending; their number. `places` has room for 16 more than there can
// be.
std::size_t places_from(const float* x, float least, std::size_t size, std::int32_t* places);

// x_j += shift where x_j is below `least`.
void add_below(float* x, float least, float shift, std::size_t size);

// Whether no number is infinite or NaN.
bool all_finite(const float* x, std::size_t size);

}  // namespace semfuse
