#include "wire/knob_value.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/nearest_word.h"
#include "features/knob_index.h"
#include "io/quoted_text.h"
#include "wire/api_error.h"

namespace semfuse {

std::vector<KnobSetting> knob_settings(std::span<const Knob> knobs, std::span<const KnobValue> values) {
  std::vector<KnobSetting> settings;
  for (const KnobValue& value : values) {
    const std::string param = "knobs." + value.knob;
    const auto refuse = [&](const std::string& what) {
      throw ApiError(400, fmt::format("knob {}: {}", quoted_text(value.knob), what), param);
    };
    const std::size_t index = knob_index(knobs, value.knob);
    if (index >= knobs.size()) {
      std::vector<std::string> names;
      for (const Knob& knob : knobs) names.push_back(knob.name);
      refuse(names.empty() ? "the model has no knobs"
                           : fmt::format("the model has none of that name; it has {}", fmt::join(names, ", ")));
    }
    const Knob& knob = knobs[index];
    KnobSetting setting{.knob = knob.name, .values = {}};
    if (knob.kind != KnobKind::distribution) {
      if (!value.number) refuse("takes a number");
      setting.values = {*value.number};
    } else {
      if (value.number) refuse("takes weights of labels, as {\"LABEL\": 0.6, ...}");
      setting.values.assign(knob.labels.size(), 0.0);
      for (const auto& [label, weight] : value.weights) {
        const auto found = std::ranges::find(knob.labels, label);
        if (found == knob.labels.end()) {
          refuse(fmt::format("{} is none of its labels {}", quoted_text(label), fmt::join(knob.labels, " ")));
        }
        setting.values[static_cast<std::size_t>(found - knob.labels.begin())] = weight;
      }
    }
    settings.push_back(std::move(setting));
    try {
      request_row(knobs, settings);
    } catch (const Error& error) {
      throw ApiError(400, error.what(), param);
    }
  }
  return settings;
}

Json knob_json(const Knob& knob, const std::vector<double>& values) {
  if (knob.kind != KnobKind::distribution) return values.front();
  Json weights = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) weights[knob.labels[i]] = values[i];
  return weights;
}

Json knobs_json(std::span<const Knob> knobs, std::span<const KnobSetting> settings) {
  Json json = Json::object();
  for (const KnobSetting& setting : settings) {
    json[setting.knob] = knob_json(knobs[knob_index(knobs, setting.knob)], setting.values);
  }
  return json;
}

}  // namespace semfuse
