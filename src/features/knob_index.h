// The place of a knob among those of a model, and where it reads what is no word's.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "semfuse/knobs.h"

namespace semfuse {

constexpr std::string_view kLengthSource = "length";  // The number of a sentence's words.
// Before a feature of natural text:
constexpr std::string_view kShareSource = "share ";      // the share of a text's words that it is true of;
constexpr std::string_view kFeatureSource = "feature ";  // whether it is true of one of them.

// The number of knobs if none has the name.
inline std::size_t knob_index(std::span<const Knob> knobs, std::string_view name) {
  const auto found = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.name == name; });
  return static_cast<std::size_t>(found - knobs.begin());
}

}  // namespace semfuse
