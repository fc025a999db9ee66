// Rotary positions: pairs of a head's numbers turn by an angle that grows with the token's place.
#pragma once

#include <cstddef>
#include <vector>

#include "core/matrix_view.h"

namespace semfuse {

// Sines and cosines of the first places; grows as it is asked. One thread at a time for reserve().
class RotaryTable {
 public:
  RotaryTable(std::size_t head_width, double base) : pairs_(head_width / 2), base_(base) {}

  // Places 0 ... length - 1.
  void reserve(std::size_t length);

  // Turns every head of a row that stands at `place`. `halves`: (i, i + head_width / 2) turn together, else (2i, 2i +
  // 1). `back` turns the other way, which is also the gradient.
  void turn(std::size_t place, bool halves, bool back, float* row, std::size_t num_heads) const;

 private:
  std::size_t pairs_;
  double base_;
  std::vector<float> cosines_;  // [places, pairs]
  std::vector<float> sines_;
};

}  // namespace semfuse
