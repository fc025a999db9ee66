#include "generation/request_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/knob_index.h"
#include "generation/guidance.h"
#include "generation/value_reader.h"
#include "semfuse/error.h"

namespace semfuse {

RequestRows::RequestRows(const LanguageModel& model, const KnobCells& cells, const GenerationRequest& request,
                         std::span<const KnobSetting> rules)
    : model_(model), cells_(cells), request_(request), rules_(rules) {
  read_request();
}

void RequestRows::read_request() {
  asked_.clear();
  asked_[{}] = asked_by(request_.knobs);
}

const RequestRows::Asked& RequestRows::asked(const std::vector<std::size_t>& rule_settings) {
  const auto [found, added] = asked_.try_emplace(rule_settings);
  if (!added) return found->second;
  std::vector<KnobSetting> settings = held(rule_settings);
  for (const KnobSetting& setting : request_.knobs) {
    if (std::ranges::find(settings, setting.knob, &KnobSetting::knob) == settings.end()) settings.push_back(setting);
  }
  return found->second = asked_by(settings);
}

std::vector<std::string> RequestRows::names(const std::vector<std::size_t>& rule_settings) const {
  std::vector<std::string> names;
  for (const KnobSetting& setting : held(rule_settings)) {
    if (guidance_of(setting.knob) != 0.0) names.push_back(to_string(model_.options().knobs, setting));
  }
  return names;
}

std::vector<KnobSetting> RequestRows::held(const std::vector<std::size_t>& rule_settings) const {
  std::vector<KnobSetting> settings;
  for (const std::size_t rule : rule_settings) {
    const auto same_knob = [&](std::size_t other) { return rules_[other].knob == rules_[rule].knob; };
    const auto differs = [&](std::size_t other) { return same_knob(other) && rules_[other] != rules_[rule]; };
    const bool is_first = *std::ranges::find_if(rule_settings, same_knob) == rule;
    if (is_first && std::ranges::none_of(rule_settings, differs)) settings.push_back(rules_[rule]);
  }
  return settings;
}

double RequestRows::guidance_of(const std::string& knob) const {
  const auto own = std::ranges::find(request_.knob_guidance, knob, &KnobGuidance::knob);
  return own != request_.knob_guidance.end() ? own->weight : request_.guidance;
}

RequestRows::Tilt RequestRows::tilt(std::span<const KnobSetting> settings, std::size_t place,
                                    const CalibratedRequest& together, const Calibration& maps) const {
  const std::string& knob = settings[place].knob;
  const double weight = guidance_of(knob);
  const auto strength = [&](const CalibratedRequest& mapped) {
    return std::min(weight * mapped.each[place], kMostGuidance);
  };
  const double sureness = sureness_of(model_.heads().at(knob));
  const double target = together.settings[place].values.front();
  if (sureness == 1.0) return {.knob = knob, .target = target, .strength = strength(together)};
  // As strongly as the map says of the side that the text takes.
  const std::vector<Knob>& knobs = model_.options().knobs;
  std::vector<KnobSetting> of_side(settings.begin(), settings.end());
  const double side = side_of(target, request_.seed, request_.index, knob_index(knobs, knob));
  of_side[place].values = {side};
  return {.knob = knob, .target = side, .strength = sureness * strength(calibrated(knobs, maps, of_side))};
}

RequestRows::Asked RequestRows::asked_by(std::span<const KnobSetting> settings) const {
  const std::vector<Knob>& knobs = model_.options().knobs;
  request_row(knobs, settings);  // Throws for what the knobs do not take, also if it counts for nothing.
  const bool by_heads = request_.heads && !request_.source;  // Another method steers what the model is asked for.
  Calibration maps;
  if (request_.calibrated) maps = model_.calibration();
  if (!by_heads) std::erase_if(maps, [&](const auto& map) { return model_.heads().contains(map.first); });
  const CalibratedRequest together = calibrated(knobs, maps, settings);
  std::vector<KnobSetting> stated, held;
  std::map<double, std::vector<KnobSetting>> by_weight;
  Asked asked;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const double weight = guidance_of(settings[i].knob);
    if (weight == 0.0) continue;
    stated.push_back(settings[i]);
    if (by_heads && model_.heads().contains(settings[i].knob)) {
      asked.tilts.push_back(tilt(settings, i, together, maps));
      continue;
    }
    // What a knob's own map takes: it was measured alone, and another knob's guidance would push it past its level.
    const double taken = std::min(weight * together.each[i], kMostGuidance);
    held.push_back(together.settings[i]);
    by_weight[taken].push_back(held.back());
  }
  asked.cells = cells_.of(stated);
  if (held.empty()) return asked;
  asked.row = request_row(knobs, held);
  asked.guidance = by_weight.begin()->first;
  if (by_weight.size() == 1) return asked;
  for (const auto& [weight, part] : by_weight) {
    if (weight == 1.0) continue;
    asked.parts.push_back({.row = request_row(knobs, part), .weight = weight});
  }
  return asked;
}

std::vector<KnobSetting> rule_settings(const Grammar& grammar, std::span<const Knob> knobs) {
  std::vector<KnobSetting> settings;
  for (const RuleSetting& written : grammar.settings()) {
    try {
      settings.push_back(parse_setting(knobs, fmt::format("{}={}", written.knob, written.value)));
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", written.where, error.what()));
    }
  }
  return settings;
}

}  // namespace semfuse
