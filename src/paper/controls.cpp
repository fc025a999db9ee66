#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/nearest_word.h"
#include "features/knob_index.h"
#include "semfuse/error.h"
#include "semfuse/paper_controls.h"

namespace semfuse {

namespace {

struct Control {
  const char* name;
  double ControlOptions::*value;
  const char* knob;        // That asks for the same.
  const char* label = "";  // Of a distribution: the one that the weight goes to.
  bool opposite = false;
};

constexpr Control kControls[] = {
    {.name = "pos_high", .value = &ControlOptions::pos_high, .knob = "polarity"},
    {.name = "neg_high", .value = &ControlOptions::neg_high, .knob = "polarity", .opposite = true},
    {.name = "str_high", .value = &ControlOptions::str_high, .knob = "strength"},
    {.name = "str_med", .value = &ControlOptions::str_med, .knob = "strength"},
    {.name = "is_question", .value = &ControlOptions::is_question, .knob = "mark", .label = "?"}};

}  // namespace

const std::vector<std::string>& control_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Control& control : kControls) list.emplace_back(control.name);
    return list;
  }();
  return names;
}

void set_control(ControlOptions& controls, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string name(assignment.substr(0, equals));
  for (const Control& control : kControls) {
    if (name != control.name) continue;
    const std::string_view text = equals == std::string_view::npos ? "" : assignment.substr(equals + 1);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size() || !(value >= 0.0 && value <= 1.0)) {
      throw Error(fmt::format("control {} is \"{}\"; write {}=NUMBER with a number from 0 to 1", name, text, name));
    }
    controls.*control.value = value;
    return;
  }
  throw Error(fmt::format("unknown control \"{}\"{}; the controls are {}", name, did_you_mean(name, control_names()),
                          fmt::join(control_names(), ", ")));
}

std::optional<KnobSetting> control_as_knob(std::span<const Knob> knobs, std::string_view assignment) {
  const std::string_view name = assignment.substr(0, assignment.find('='));
  const auto* control = std::find_if(std::begin(kControls), std::end(kControls),
                                     [&](const Control& candidate) { return name == candidate.name; });
  if (control == std::end(kControls) || knob_index(knobs, name) < knobs.size()) return std::nullopt;
  ControlOptions controls;
  set_control(controls, assignment);
  const double value = controls.*control->value;
  const std::size_t index = knob_index(knobs, control->knob);
  if (index == knobs.size() || knobs[index].kind != KnobKind::distribution) {
    return parse_setting(knobs, fmt::format("{}={}", control->knob, control->opposite ? 1.0 - value : value));
  }
  const std::vector<std::string>& labels = knobs[index].labels;
  const auto label = std::find(labels.begin(), labels.end(), control->label);
  if (label == labels.end()) {
    throw Error(fmt::format("{}: the knob {} has no label \"{}\"; set it by its own labels", name, control->knob,
                            control->label));
  }
  KnobSetting setting{.knob = control->knob, .values = {}};
  setting.values.assign(labels.size(), (1.0 - value) / static_cast<double>(labels.size() - 1));
  setting.values[static_cast<std::size_t>(label - labels.begin())] = value;
  return setting;
}

}  // namespace semfuse
