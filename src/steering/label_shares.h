// What heads learn of labelled texts.
#pragma once

#include <cmath>
#include <vector>

#include "semfuse/dataset.h"

namespace semfuse {

// Of each text how much of one of the dataset's knobs, a probability, is positive, as train_steering() reads it; NaN
// where the text says nothing.
inline std::vector<float> label_shares(const Dataset& dataset, std::size_t knob = 0) {
  std::vector<float> shares;
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    const KnobLabel label = dataset.label(i, knob);
    const auto all = static_cast<double>(label.positive + label.negative);
    shares.push_back(all > 0.0 ? static_cast<float>(static_cast<double>(label.positive) / all) : NAN);
  }
  return shares;
}

}  // namespace semfuse
