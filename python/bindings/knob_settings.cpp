#include "knob_settings.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <string>

#include "semfuse/error.h"

namespace semfuse::python {
namespace {

namespace nb = nanobind;

double number_of(const std::string& knob, nb::handle value) {
  try {
    return nb::cast<double>(nb::float_(value));
  } catch (const nb::python_error&) {
    throw Error(fmt::format("knob {}: {} is no number, label or dict of labels and weights", knob,
                            nb::cast<std::string>(nb::repr(value))));
  }
}

// As it stands behind NAME=.
std::string value_text(const std::string& knob, nb::handle value) {
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (!nb::isinstance<nb::dict>(value)) return fmt::format("{}", number_of(knob, value));
  std::string text;
  for (const auto [label, weight] : nb::borrow<nb::dict>(value)) {
    if (!text.empty()) text += ',';
    text += fmt::format("{}:{}", nb::cast<std::string>(nb::str(label)), number_of(knob, weight));
  }
  return text;
}

}  // namespace

std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, const nb::dict& values) {
  std::vector<KnobSetting> settings;
  for (const auto [key, value] : values) {
    const auto name = nb::cast<std::string>(nb::str(key));
    settings.push_back(parse_setting(knobs, fmt::format("{}={}", name, value_text(name, value))));
  }
  return settings;
}

}  // namespace semfuse::python
