#include "generation/inexact_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "features/knob_index.h"
#include "features/knob_support.h"
#include "generation/sampler.h"

namespace semfuse {

std::vector<std::string> inexact_knobs(std::span<const Knob> asked, const GenerationRequest& request) {
  if (asked.empty() || request.guidance == 0.0) return {};
  std::vector<std::string> names;
  std::vector<std::string> lengths;
  for (const Knob& knob : asked) {
    names.push_back(knob.name);
    if (knob.source == kLengthSource) lengths.push_back(knob.name);
  }
  std::vector<std::string> lines;
  if (is_greedy(request.sampling)) {
    lines.push_back(
        fmt::format("{} will not hold exactly: the most probable word is always taken, so nothing has a "
                    "share; draw with a temperature above 0",
                    fmt::join(names, ", ")));
  } else if (!lengths.empty() && !is_plain(request.sampling)) {
    lines.push_back(
        fmt::format("{} will not hold exactly: a length does so at temperature 1 without top-k and top-p only",
                    fmt::join(lengths, ", ")));
  }
  if (!request.rules.empty() || request.repetition.penalty != 1.0) {
    lines.push_back(fmt::format("{} will not hold exactly: controls, rules and a repetition penalty act after it",
                                fmt::join(names, ", ")));
  }
  return lines;
}

std::vector<std::string> inexact_settings(const LanguageModel& model, const GenerationRequest& request) {
  const std::vector<Knob>& knobs = model.options().knobs;
  std::vector<KnobSetting> settings = request.knobs;
  if (request.grammar) {
    const std::vector<KnobSetting> of_rules = rule_settings(request.grammar->grammar(), knobs);
    settings.insert(settings.end(), of_rules.begin(), of_rules.end());
  }
  if (request.guidance == 0.0) return {};
  std::vector<Knob> asked;
  std::vector<std::string> lines;
  for (const KnobSetting& setting : settings) {
    const Knob& knob = knobs.at(knob_index(knobs, setting.knob));
    if (std::ranges::find(asked, knob.name, &Knob::name) == asked.end()) asked.push_back(knob);
    if (knob.of_column && request.calibrated && !model.calibration().contains(knob.name)) {
      std::string line = fmt::format(
          "knob {} is not calibrated: what comes of a setting is not known; measure it with `semfuse calibrate`",
          knob.name);
      if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
    const std::optional<std::string> missing = missing_support(knob, model.knob_support(), setting);
    if (!missing) continue;
    std::string line = fmt::format("{}, so {} cannot be asked for", *missing, to_string(knobs, setting));
    if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
  }
  for (std::string& line : inexact_knobs(asked, request)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace semfuse
