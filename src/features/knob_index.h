// The place of a knob among those of a model, and where it reads what is no word's.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "semfuse/knobs.h"

namespace semfuse {

constexpr std::string_view kLengthSource = "length";  // The number of a sentence's words.
constexpr std::string_view kShareSource = "share ";   // Before a feature: of the words that it is true of.

// The number of knobs if none has the name.
inline std::size_t knob_index(std::span<const Knob> knobs, std::string_view name) {
  const auto found = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.name == name; });
  return static_cast<std::size_t>(found - knobs.begin());
}

}  // namespace semfuse
