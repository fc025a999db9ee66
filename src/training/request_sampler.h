// What training asks a sentence for, drawn so that a knob comes to mean what it says.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "core/matrix_view.h"
#include "core/random.h"
#include "semfuse/dataset.h"
#include "semfuse/knobs.h"

namespace semfuse {

struct RequestSamplerOptions {
  double stated = 0.5;  // Probability that a knob is stated.
  // Standard deviation of a stated scalar around the sentence's value, as a share of its range; of one that only has
  // whole values, such as a length, 0.2 at most.
  double noise = 0.05;
  double ends = 0.0;  // Share of the stated probabilities and distributions that are exactly the sentence's own.
  std::uint64_t seed = 1;
};

// What a text itself shows of a knob, as a request that fits; empty if that is nothing, or a number out of range.
std::vector<double> shown_values(const Knob& knob, const KnobLabel& label);

// Calibration by construction. A probability x is thought to be uniform and the labels to be drawn by it; then
// x ~ Beta(1 + k, 1 + m) for k positive and m negative ones, and the labels are exchangeable, each number k of n
// equally probable. The corpus has them in other proportions, so a sentence takes part with a probability proportional
// to p_exchangeable / p_corpus, and among those that do P(positive | x) = x. A distribution likewise: q ~ Dirichlet(1 +
// one-hot), labels equally probable. What is stated together is weighed together, so the knobs do not shift each other.
// Sentences with nothing stated are the corpus' own.
//
// Where a text has soft labels, what it shows is drawn from them anew at each visit: a wrong label is then no wrong
// lesson, but a rare one.
//
// A share of the requests, `ends`, is exactly what the sentence shows: one label alone, or k / (k + m), mostly 0 or 1.
// Whether it is does not depend on the labels, so P(positive | x) = x holds among these and among the others.
//
// A sentence whose value of a scalar lies out of the knob's range does not take part where that scalar is stated: it
// would be asked for the nearest end, which then means anything beyond it too.
class RequestSampler {
 public:
  // The dataset, whose labels are those of the knobs, must outlive the sampler. Throws Error if no sentence shows
  // anything of a knob.
  RequestSampler(std::vector<Knob> knobs, const Dataset& dataset, const RequestSamplerOptions& options);

  // What the sentences show of the scalar knobs.
  const KnobSupport& support() const { return support_; }

  std::size_t num_columns() const { return num_columns_; }

  // At some place of an epoch: keeps `sentence`, or puts another in its place that takes part in what is stated there,
  // and says what it is asked for. A function of its arguments and the seed.
  std::vector<KnobSetting> draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence) const;
  // The same as columns.
  void draw(std::uint64_t epoch, std::size_t place, std::size_t& sentence, std::span<float> columns) const;

 private:
  using Stated = std::uint32_t;  // A bit for each knob.
  // What a sentence shows of each knob: the number of its labels, and which; of a scalar 1 if it is out of range.
  using Pattern = std::vector<std::uint32_t>;

  // What a sentence shows of each knob; soft labels are drawn.
  void show(std::size_t sentence, RandomStream& random, std::vector<KnobLabel>& labels) const;
  Pattern pattern_of(std::span<const KnobLabel> labels) const;
  // The part of a pattern that is stated; the others are 0.
  Pattern stated_part(const Pattern& pattern, Stated stated) const;
  double chance(Stated stated, std::span<const KnobLabel> labels) const;

  std::vector<Knob> knobs_;
  const Dataset& dataset_;
  RequestSamplerOptions options_;
  std::size_t num_columns_;
  std::vector<double> noise_;                      // Of each knob, if it is a scalar: the deviation of what is stated.
  std::vector<std::map<Pattern, double>> accept_;  // By Stated and the stated part: the probability to take part.
  KnobSupport support_;
};

}  // namespace semfuse
