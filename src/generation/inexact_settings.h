// Where what a person asks for cannot come out as it says.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// A line for each reason why settings of the request (its own, and those of its grammar's rules) will not hold exactly;
// none if they will. Guidance other than 1 is no reason: it is asked for. Throws Error for settings that the model does
// not take.
std::vector<std::string> inexact_settings(const LanguageModel& model, const GenerationRequest& request);

// Those of the reasons that lie in how the request draws words, for knobs that are asked for whatever they are set to.
std::vector<std::string> inexact_knobs(std::span<const Knob> asked, const GenerationRequest& request);

}  // namespace semfuse
