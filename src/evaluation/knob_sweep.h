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
  // Of a scalar, sentence by sentence, which no coin between two requests can get right: the mean distance from what
  // was asked for, if that is known, and the standard deviation.
  double distance = 0.0;
  double deviation = 0.0;
};

// How single sentences follow a scalar, over levels of equal weight.
struct TextMatch {
  double distance = 0.0;     // Mean distance of a sentence's value from what was asked for.
  double correlation = 0.0;  // Pearson's, of what was asked for and the sentence's value; NaN if either never changes.
};
TextMatch text_match(const std::vector<double>& asked, const std::vector<const Realised*>& levels);

// Counts them sentence by sentence, in memory that does not grow. `knob` must outlive it.
class RealisedCount {
 public:
  // `asked` of a scalar: what distances are measured from.
  explicit RealisedCount(const Knob& knob, std::optional<double> asked = std::nullopt);
  void add(const Sentence& sentence, const Lexicon& lexicon) { add(read_label(knob_, sentence, lexicon)); }
  void add(const KnobLabel& label);
  Realised result() const;

 private:
  // A ratio of sums over sentences, with the interval by linearisation. Squares are summed of the distances to an
  // origin near the ratio, the first sentence's: sums of plain squares would lose what little they differ by.
  struct Ratio {
    void add(double part, double whole);
    double variance() const;  // Times the number of wholes.
    double half_width() const;

    double above = 0.0;
    double below = 0.0;
    double origin = 0.0;
    double squares = 0.0;
    double products = 0.0;
    double wholes = 0.0;
  };

  const Knob& knob_;
  std::optional<double> asked_;
  double distances_ = 0.0;
  std::vector<Ratio> ratios_;
};

// A probability is the share of positive ones among all labelled words, a scalar the mean of the sentences' values.
// Sentences without any count for nothing; if none has one, the values are NaN.
Realised realised(const Knob& knob, const std::vector<Sentence>& sentences, const Lexicon& lexicon);

struct SweepOptions {
  std::size_t levels = 11;  // Of a probability or a scalar; a distribution has 12.
  std::size_t n = 1000;     // Sentences a level.
  std::uint64_t seed = 1;
  double guidance = 1.0;
  bool calibrated = true;     // Settings become what the model's maps say.
  SamplingOptions sampling;   // Shares hold whatever it is; a length does not.
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

  // Of one scalar alone: what cannot be asked for, since no training sentence has it, with the levels that lie there.
  std::vector<std::string> gaps;

  double mean_absolute_error = 0.0;  // Over levels, knobs and values.
  // Of one knob alone, of what was requested and the mean of what came of it; for a distribution over all its weights.
  // NaN if there are gaps: the order of levels that cannot be asked for is chance, whatever it is.
  std::optional<double> spearman;
  std::optional<TextMatch> texts;  // Of one scalar alone.
  std::size_t violations = 0;      // Neighbouring levels that fall beyond sampling error; of a probability or scalar.
  double mean_side_effect = 0.0;   // On the values of the other knobs, against nothing stated; over levels.
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

// The knobs that a sweep of `asked` is of; of none, all whose texts say by themselves what came of them. Throws Error,
// which names `origin` or the knob, if there is none, or if one is asked for that cannot be swept.
std::vector<std::string> swept_knobs(const std::vector<Knob>& knobs, const std::vector<std::string>& asked,
                                     const std::string& origin);

// How far a sweep is. Levels count from the first, with nothing stated; sentences are those of this call.
struct SweepProgress {
  std::size_t levels_done = 0;
  std::size_t levels = 0;
  std::size_t sentences_done = 0;
  std::size_t sentences = 0;
};

// What a sweep asks and tells while it runs; each may be empty.
struct SweepHooks {
  // Asked every few hundred sentences; false stops the sweep.
  std::function<bool(const SweepProgress& progress)> go_on = {};
  // A level that was measured before, by its name; nothing if it was not.
  std::function<std::optional<std::vector<Realised>>(const std::string& level)> known = {};
  // Told of each level that is measured now.
  std::function<void(const std::string& level, const std::vector<Realised>& realised)> measured = {};
};

// Free sampling: no grammar, no prompt. Sweeps `names`, all knobs if there are none. Nothing if go_on said no. Throws
// Error for options that a generator refuses.
std::optional<SweepResult> sweep_knobs(const LanguageModel& model, const std::vector<std::string>& names,
                                       const SweepOptions& options, std::size_t threads, const SweepHooks& hooks = {});

// Spearman's rank correlation; equal values share their mean rank. NaN for fewer than two, or if one is not finite.
double spearman(const std::vector<double>& x, const std::vector<double>& y);

}  // namespace semfuse
