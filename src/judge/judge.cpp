#include "judge/judge.h"

#include <algorithm>

namespace semfuse {

KnobLabel decided(const Knob& knob, std::span<const double> values) {
  KnobLabel label;
  switch (knob.kind) {
    case KnobKind::scalar:
      label.value = values[0];
      break;
    case KnobKind::distribution:
      label.label = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
      break;
    default:
      ++(values[0] > 0.5 ? label.positive : label.negative);
  }
  return label;
}

}  // namespace semfuse
