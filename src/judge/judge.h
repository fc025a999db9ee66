// Says of texts what a knob asks for: whether they are positive, which label they have, how many stars.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "semfuse/knobs.h"

namespace semfuse {

// Independent of any model: what measures a knob must not be what turns it. Safe to share between threads.
class Judge {
 public:
  virtual ~Judge() = default;

  // [texts, Knob::num_values()]: of a probability the chance that the text is positive, of a distribution that of each
  // label, of a scalar its value, in the knob's range. Throws Error if the judge fails.
  virtual std::vector<double> judge(std::span<const std::string> texts) const = 0;

  // Other judges have another one; stored with what was measured.
  virtual std::string fingerprint() const = 0;
};

// What a judge's numbers of one text decide, as a label of the knob: positive above 1/2, the most probable label (the
// first of equals), the value.
KnobLabel decided(const Knob& knob, std::span<const double> values);

}  // namespace semfuse
