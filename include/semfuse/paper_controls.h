// The paper's controls: rules that steer adjectives, intensifiers and final marks from outside of the model, and the
// settings of its tables. A model with knobs of its own does not need them; see knobs.h.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// How adjectives of a hard request are drawn: q = (1 - alpha) · softmax(logits / temperature) + alpha · uniform, over
// the class; then the nucleus of mass top_p.
struct ClassMixture {
  double alpha = 0.0;        // From 0 to 1. Raise it if one adjective crowds out the others.
  double temperature = 1.0;  // Above 0. Raise it to flatten what the model prefers.
  double top_p = 1.0;        // Lower it to leave out adjectives that hardly fit.
};

// The paper's controls, each in [0, 1]. They act on the logits where the grammar leaves a choice of intensifiers, of
// adjectives or of final marks; the model does not read them. Of pos_high and neg_high only the difference counts, of
// str_high and str_med the larger one.
struct ControlOptions {
  double pos_high = 0.0;
  double neg_high = 0.0;
  double str_high = 0.0;
  double str_med = 0.0;
  double is_question = 0.0;
  double hard_above = 0.6;  // Above this a request is hard: other adjectives, other marks are ruled out.
  bool soft_only = false;   // No request is hard: set it where a sentence must stay free to disagree.
  ClassMixture positive = {.alpha = 0.97, .temperature = 1.5, .top_p = 1.0};
  ClassMixture negative = {.alpha = 0.85, .temperature = 1.3, .top_p = 0.95};

  double polarity() const { return pos_high - neg_high; }
  bool active() const { return pos_high > 0 || neg_high > 0 || str_high > 0 || str_med > 0 || is_question > 0; }
};

// Names of the controls: "pos_high", ...
const std::vector<std::string>& control_names();
// Sets a control from "pos_high=0.95". Throws Error for an unknown name or a value outside [0, 1].
void set_control(ControlOptions& controls, std::string_view assignment);

// What a control asks of a model that has knobs: "neg_high=0.75" is polarity=0.25, "is_question=0.6" gives that weight
// to "?" and the rest evenly to the other marks. Nothing if the text names no control, or a knob has that name. Throws
// Error as set_control() and parse_setting() do.
std::optional<KnobSetting> control_as_knob(std::span<const Knob> knobs, std::string_view assignment);

// The controls as rules for GenerationRequest::rules; none if no control is set. They need a grammar. Rules of one's
// own go before them, since hard requests draw adjectives from a mixture that is final. `sampling` is that of the
// request: the mixture's nucleus is read in the same way, and temperature 0 takes its most probable adjective. Throws
// Error for values out of range.
std::vector<std::shared_ptr<const LogitRule>> control_rules(const ControlOptions& controls,
                                                            const SamplingOptions& sampling,
                                                            const LanguageModel& model);

// Settings of one of the paper's tables; all of them decode in the grammar "one-clause".
struct GenerationPreset {
  std::string name;
  SamplingOptions sampling;
  RepetitionOptions repetition;
  ControlOptions controls;
};

const std::vector<GenerationPreset>& generation_presets();
// Throws Error that lists the presets if there is none of that name.
const GenerationPreset& generation_preset(std::string_view name);
// A request with these settings.
GenerationRequest request_of(const GenerationPreset& preset, const LanguageModel& model,
                             std::shared_ptr<const CompiledGrammar> grammar);

// The distribution of a class mixture over `tokens`, by descending probability, equals by id.
std::vector<TokenProbability> mixture_distribution(std::span<const double> logits, std::span<const TokenId> tokens,
                                                   const ClassMixture& mixture, Nucleus nucleus);

}  // namespace semfuse
