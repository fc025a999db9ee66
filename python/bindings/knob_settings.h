// Knobs as Python says them: {"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}}.
#pragma once

#include <nanobind/nanobind.h>

#include <span>
#include <vector>

#include "semfuse/knobs.h"

namespace semfuse::python {

// A dict, or whatever else has keys and values.
bool is_mapping(nanobind::handle value);
// It as a dict. Throws what Python raises for something else.
nanobind::dict as_dict(nanobind::handle mapping);

// Throws Error for knobs that there are not, with the nearest name, and for values of another kind; request_row() for
// values that are out of range.
std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, const nanobind::dict& values);

}  // namespace semfuse::python
