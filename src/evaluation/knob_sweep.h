// What a model does with what it is asked for: requested against realised, knob by knob and together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// What sentences turned out to have of a knob: one value, or the share of each label.
struct Realised {
  std::vector<double> values;
  std::vector<double> half_widths;  // Of the 95 % intervals, over sentences.
};

// A probability is the share of positive ones among all labelled words, a scalar the mean of the sentences' values.
// Sentences without any count for nothing; if none has one, the values are NaN.
Realised realised(const Knob& knob, const std::vector<Sentence>& sentences, const Lexicon& lexicon);

struct SweepOptions {
  std::size_t levels = 11;  // Of a probability or a scalar; a distribution has 12.
  std::size_t n = 1000;     // Sentences a level.
  std::uint64_t seed = 1;
  double guidance = 1.0;
  bool combinations = false;  // Also every pair and all knobs together.
};

// One setting of the swept knobs.
struct SweepLevel {
  std::vector<KnobSetting> requested;
  std::vector<Realised> realised;  // By knob of the model, those that were not set included.
};

// Some knobs, set together to one level after the other.
struct KnobSweep {
  std::vector<std::string> knobs;
  std::vector<SweepLevel> levels;

  double mean_absolute_error = 0.0;  // Over levels, knobs and values.
  // Of one knob alone, of what was requested and the mean of what came of it; for a distribution over all its weights.
  std::optional<double> spearman;
  std::size_t violations = 0;     // Neighbouring levels that fall beyond sampling error; of a probability or scalar.
  double mean_side_effect = 0.0;  // On the values of the other knobs, against nothing stated; over levels.
  double largest_side_effect = 0.0;
};

struct SweepResult {
  std::vector<Realised> unstated;  // By knob: nothing is asked for.
  std::vector<KnobSweep> sweeps;
};

// The settings of a knob: a probability or scalar at `levels` places from end to end; a distribution at its corners,
// the middles of its edges, and more drawn at random, 12 in all (more if there are more corners and edges).
std::vector<KnobSetting> sweep_settings(const Knob& knob, std::size_t levels);
// Several knobs together: the ends of their ranges in turn, then settings drawn at random; 12.
std::vector<std::vector<KnobSetting>> joint_settings(const std::vector<Knob>& knobs);

// Free sampling at temperature 1: no grammar, no prompt. Sweeps `names`, all knobs if there are none. `on_level` is
// called after each level with how many are done and how many there are; it returns false to stop.
std::optional<SweepResult> sweep_knobs(const LanguageModel& model, const std::vector<std::string>& names,
                                       const SweepOptions& options, std::size_t threads,
                                       const std::function<bool(std::size_t done, std::size_t all)>& on_level = {});

// Spearman's rank correlation; equal values share their mean rank. NaN for fewer than two, or if one is not finite.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace semfuse
