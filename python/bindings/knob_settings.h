// What Python says of knobs, as the library has it.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

#include "semfuse/knobs.h"

namespace semfuse::python {

// {"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}} or {"mark": "?"}. Throws Error as parse_setting() does.
std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, const nanobind::dict& values);

}  // namespace semfuse::python
