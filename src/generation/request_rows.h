// What a model is asked for while a sentence grows.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "generation/knob_cells.h"
#include "semfuse/generator.h"

namespace semfuse {

// The sentence's settings, and those of the grammar's rules before them, as the rows that a model reads.
class RequestRows {
 public:
  // `rules` are what rule_settings() says of the request's grammar. All must outlive it. Throws Error for settings that
  // the knobs do not take.
  RequestRows(const LanguageModel& model, const KnobCells& cells, const GenerationRequest& request,
              std::span<const KnobSetting> rules);

  // Knobs of one guidance weight.
  struct Part {
    std::vector<float> row;
    double weight;
  };
  // A knob that a head of the model turns.
  struct Tilt {
    std::string knob;
    double target;
    double strength;
  };
  struct Asked {
    std::vector<float> row;             // Empty if nothing is asked for but by tilts.
    const TokenCells* cells = nullptr;  // What tokens say of it; null if nothing is asked for that they speak of.
    double guidance = 1.0;              // Of the whole row: the request's, times what the model's calibration takes.
    std::vector<Part> parts = {};       // If weights differ: the row cut by them, without what has a weight of 1.
    std::vector<Tilt> tilts = {};       // Knobs that are in no row.
  };
  // Where rules have these settings (as GrammarCursor::settings() says). Valid until read_request().
  const Asked& asked(const std::vector<std::size_t>& rule_settings);

  // Takes the request's knobs and guidance as they now are. Throws Error like the constructor.
  void read_request();

  // Those of them that hold, as a person writes them.
  std::vector<std::string> names(const std::vector<std::size_t>& rule_settings) const;

 private:
  // Those of knobs that are not set to different values.
  std::vector<KnobSetting> held(const std::vector<std::size_t>& rule_settings) const;
  Asked asked_by(std::span<const KnobSetting> settings) const;
  // Of the setting at a place, of a knob that a head turns; `together` is what the maps make of all settings.
  Tilt tilt(std::span<const KnobSetting> settings, std::size_t place, const CalibratedRequest& together,
            const Calibration& maps) const;
  double guidance_of(const std::string& knob) const;

  const LanguageModel& model_;
  const KnobCells& cells_;
  const GenerationRequest& request_;
  std::span<const KnobSetting> rules_;               // As Grammar::settings().
  std::map<std::vector<std::size_t>, Asked> asked_;  // By settings of rules.
};

}  // namespace semfuse
