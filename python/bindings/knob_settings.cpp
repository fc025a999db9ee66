#include "knob_settings.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "semfuse/error.h"
#include "text.h"

namespace semfuse::python {
namespace nb = nanobind;

namespace {

double number_of(std::string_view knob, nb::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number != -1.0 || PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  throw Error(fmt::format("knob {}: {} is no number, label or dict of labels and weights", knob,
                          nb::cast<std::string>(nb::repr(value))));
}

// As it stands behind NAME=.
std::string value_text(std::string_view knob, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (!is_mapping(value)) return fmt::format("{}", number_of(knob, value));
  std::string text;
  for (const auto [label, weight] : as_dict(value)) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}:{}", nb::cast<std::string>(nb::str(label)), number_of(knob, weight));
  }
  return text;
}

}  // namespace

bool is_mapping(nb::handle value) {
  if (nb::isinstance<nb::dict>(value)) return true;
  return !nb::isinstance<nb::float_>(value) && !nb::isinstance<nb::int_>(value) && nb::hasattr(value, "keys");
}

nb::dict as_dict(nb::handle mapping) {
  if (nb::isinstance<nb::dict>(mapping)) return nb::borrow<nb::dict>(mapping);
  nb::dict dict;
  if (PyDict_Update(dict.ptr(), mapping.ptr()) != 0) throw nb::python_error();
  return dict;
}

std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, const nb::dict& values) {
  std::vector<KnobSetting> settings;
  for (const auto [key, value] : values) {
    const nb::str text(key);  // A str stays what it is.
    const std::string_view name = utf8_of(text);
    const auto knob = std::ranges::find(knobs, name, &Knob::name);
    if (knob != knobs.end() && knob->kind != KnobKind::distribution && nb::isinstance<nb::float_>(value)) {
      settings.push_back({.knob = knob->name, .values = {number_of(name, value)}});
    } else {
      settings.push_back(parse_setting(knobs, fmt::format("{}={}", name, value_text(name, value))));
    }
  }
  return settings;
}

}  // namespace semfuse::python
