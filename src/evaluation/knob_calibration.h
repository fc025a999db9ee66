// Calibrates a knob: measures what a model makes of requests, and finds those that give what a person asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/knob_sweep.h"
#include "judge/judge.h"
#include "semfuse/calibration.h"
#include "semfuse/generator.h"

namespace semfuse {

// What a person may ask for, and what came of it.
struct CalibrationLevel {
  KnobSetting asked;
  Realised raw;         // Asked for as it stands, guidance 1.
  Realised calibrated;  // By the map, on texts that it was not made of.
};

struct CalibrationResult {
  KnobCalibration map;
  std::vector<CalibrationLevel> levels;
  // Over levels and values of the knob.
  double raw_mean_error = 0.0, raw_largest_error = 0.0;
  double mean_error = 0.0, largest_error = 0.0;
  // Of a scalar: how single texts follow, before and after.
  std::optional<TextMatch> raw_texts, texts;
};

struct CalibrateOptions {
  std::size_t n = 1000;  // Texts a point: errors of a share are about 1 / √(4 n).
  std::size_t levels = 11;
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  std::size_t max_tokens = 64;  // Of a text.
  // Told how much is done, from 0 to 1; false stops it.
  std::function<bool(double done)> go_on = {};
};

// Texts are sampled freely at temperature 1. `judge` says how they turned out; null for a knob that texts show by
// themselves. A path leads through all requests, with guidance 1, and past its ends on with more guidance: what comes
// of its points is smoothed and made monotone, and inverted. So a level takes the smallest guidance that reaches it,
// and one that nothing reaches what comes closest. Of a scalar guidance begins where single texts no longer follow
// better for more of it. Two more rounds measure where the map leads and correct it. The
// model's own map of the knob does not count. Nothing if go_on said no. Throws Error as generator and judge do.
std::optional<CalibrationResult> calibrate_knob(const LanguageModel& model, const Knob& knob, const Judge* judge,
                                                const CalibrateOptions& options);

}  // namespace semfuse
