// Which values of a scalar knob training sentences have, so that nobody is promised others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "semfuse/knobs.h"

namespace semfuse {

// The values of sentences that count: those in the knob's range, ascending, one of each hundredth of it. None if the
// knob is no scalar.
std::vector<double> support_of(const Knob& knob, std::vector<double> values);

// "no training sentence has a size between 8 and 16" if the setting lies in such a gap of at least a quarter of the
// range: across less, a model mixes sentences of both sides, as the noise of training's requests teaches it. Nothing if
// it does not, if nothing is known, or if all values are whole and those around it follow each other.
std::optional<std::string> missing_support(const Knob& knob, const KnobSupport& support, const KnobSetting& setting);

// All such gaps of a knob, from the lowest.
std::vector<std::string> support_gaps(const Knob& knob, const KnobSupport& support);

}  // namespace semfuse
