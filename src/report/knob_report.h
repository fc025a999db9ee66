// A sweep of knobs for scripts, for people and for browsers.
#pragma once

#include <string>
#include <vector>

#include "evaluation/knob_sweep.h"

namespace semfuse {

// {"n", "guidance", "temperature", ..., "unstated", "knobs": {NAME: {"levels": [{"requested", "realised", "ci95"}],
// "mae", "spearman", ...}}, "combinations": [...]}. Values of a distribution are objects by label.
std::string sweep_json(const std::vector<Knob>& knobs, const SweepOptions& options, const SweepResult& result);

// Markdown: what each sweep comes to, then its levels.
std::string sweep_table(const std::vector<Knob>& knobs, const SweepResult& result);

// Requested against realised with intervals, as SVG; for a sweep of one knob.
std::string sweep_plot(const Knob& knob, std::size_t index, const KnobSweep& sweep);

// Tables and plots on one self-contained page.
std::string sweep_page(const std::vector<Knob>& knobs, const SweepOptions& options, const SweepResult& result);

}  // namespace semfuse
