// What a request says of a knob, before a model is asked what it takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/json_writer.h"
#include "semfuse/knobs.h"

namespace semfuse {

// "polarity": 0.7, "mark": {"?": 0.6, ".": 0.4} or "mark": "?".
struct KnobValue {
  std::string knob;
  std::optional<double> number;
  std::vector<std::pair<std::string, double>> weights = {};  // By label, those that are stated.
};

// As a model with these knobs takes them. Throws ApiError with the knob as param.
std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, std::span<const KnobValue> values);

// {"polarity": 0.7, "mark": {"?": 0.6, ".": 0.4}}: a number, or the weight of each label.
Json knobs_json(std::span<const Knob> knobs, std::span<const KnobSetting> settings);
Json knob_json(const Knob& knob, const std::vector<double>& values);

}  // namespace semfuse
