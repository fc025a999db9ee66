#include "kernels/rotary.h"

#include <cassert>
#include <cmath>

namespace semfuse {

void RotaryTable::reserve(std::size_t length) {
  for (std::size_t place = pairs_ > 0 ? cosines_.size() / pairs_ : length; place < length; ++place) {
    for (std::size_t i = 0; i < pairs_; ++i) {
      const double power = static_cast<double>(i) / static_cast<double>(pairs_);
      const double angle = static_cast<double>(place) * std::pow(base_, -power);
      cosines_.push_back(static_cast<float>(std::cos(angle)));
      sines_.push_back(static_cast<float>(std::sin(angle)));
    }
  }
}

void RotaryTable::turn(std::size_t place, bool halves, bool back, float* row, std::size_t num_heads) const {
  assert((place + 1) * pairs_ <= cosines_.size());
  const float* cosines = cosines_.data() + place * pairs_;
  const float* sines = sines_.data() + place * pairs_;
  const float sign = back ? -1.0f : 1.0f;
  const std::size_t step = halves ? 1 : 2;
  const std::size_t partner = halves ? pairs_ : 1;
  for (std::size_t head = 0; head < num_heads; ++head, row += 2 * pairs_) {
    for (std::size_t i = 0; i < pairs_; ++i) {
      float& a = row[i * step];
      float& b = row[i * step + partner];
      const float sine = sign * sines[i];
      const float turned = a * cosines[i] - b * sine;
      b = a * sine + b * cosines[i];
      a = turned;
    }
  }
}

}  // namespace semfuse
