#include <fmt/format.h>

#include <charconv>

#include "core/nearest_word.h"
#include "semfuse/error.h"
#include "semfuse/generator.h"

namespace semfuse {

namespace {

struct Control {
  const char* name;
  double ControlOptions::*value;
};

constexpr Control kControls[] = {{"pos_high", &ControlOptions::pos_high},
                                 {"neg_high", &ControlOptions::neg_high},
                                 {"str_high", &ControlOptions::str_high},
                                 {"str_med", &ControlOptions::str_med},
                                 {"is_question", &ControlOptions::is_question}};

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

}  // namespace semfuse
