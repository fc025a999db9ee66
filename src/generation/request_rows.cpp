#include "generation/request_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "generation/guidance.h"
#include "semfuse/error.h"

namespace semfuse {

RequestRows::RequestRows(const LanguageModel& model, const KnobCells& cells, const GenerationRequest& request,
                         std::span<const KnobSetting> rules)
    : model_(model), cells_(cells), request_(request), rules_(rules) {
  asked_[{}] = asked_by(request.knobs);
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
  if (request_.guidance == 0.0) return names;
  for (const KnobSetting& setting : held(rule_settings)) names.push_back(to_string(model_.options().knobs, setting));
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

RequestRows::Asked RequestRows::asked_by(std::span<const KnobSetting> settings) const {
  const std::vector<Knob>& knobs = model_.options().knobs;
  std::vector<float> row = request_row(knobs, settings);  // Throws for settings that the knobs do not take.
  if (settings.empty() || request_.guidance == 0.0) return {};
  Asked asked{.row = std::move(row), .cells = cells_.of(settings), .guidance = request_.guidance};
  if (!request_.calibrated || model_.calibration().empty()) return asked;
  const CalibratedRequest mapped = calibrated(knobs, model_.calibration(), settings);
  asked.row = request_row(knobs, mapped.settings);
  asked.guidance = std::min(request_.guidance * mapped.guidance, kMostGuidance);
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
