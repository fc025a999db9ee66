// What a model is asked for while a sentence grows.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// The sentence's settings, and those of the grammar's rules before them, as the rows that a model reads.
class RequestRows {
 public:
  // Both must outlive it. Throws Error for settings that the knobs do not take.
  RequestRows(std::span<const Knob> knobs, const GenerationRequest& request);

  // Where rules have these settings (as GrammarCursor::settings() says). Empty if nothing is asked for. Valid as long
  // as the object.
  const std::vector<float>& row(const std::vector<std::size_t>& rule_settings);

  // Those of them that hold, as a person writes them.
  std::vector<std::string> names(const std::vector<std::size_t>& rule_settings) const;

 private:
  // Those of knobs that are not set to different values.
  std::vector<KnobSetting> held(const std::vector<std::size_t>& rule_settings) const;
  std::vector<float> row_of(std::span<const KnobSetting> settings) const;

  std::span<const Knob> knobs_;
  const GenerationRequest& request_;
  std::vector<KnobSetting> rules_;                               // As Grammar::settings().
  std::map<std::vector<std::size_t>, std::vector<float>> rows_;  // By settings of rules.
};

}  // namespace semfuse
