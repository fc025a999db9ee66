// How good a judge is.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "judge/labelled_texts.h"
#include "judge/linear_judge.h"

namespace semfuse {

struct JudgeQuality {
  std::size_t texts = 0;
  // Of a probability or distribution: texts decided right, and by always saying the most frequent label,
  double accuracy = 0.0;
  double majority = 0.0;
  double log_loss = 0.0;  // in nats a text,
  // and by how much, on average, what is said with probability p is true more or less often than that (10 bins).
  double calibration_error = 0.0;
  // Of a scalar: correlation with the labels, and the root of the mean squared error.
  double correlation = 0.0;
  double error = 0.0;
};

// Collects judged texts one by one. `knob` must outlive it.
class QualityCount {
 public:
  explicit QualityCount(const Knob& knob);
  // `values` as a judge gives them, `target` as LabelledTexts::target().
  void add(std::span<const double> values, double target);
  JudgeQuality result() const;

 private:
  static constexpr std::size_t kBins = 10;
  struct Bin {
    double said = 0.0, happened = 0.0;
  };
  const Knob& knob_;
  std::size_t texts_ = 0, right_ = 0;
  double log_loss_ = 0.0;
  std::vector<std::size_t> labels_;
  Bin bins_[kBins];
  double x_ = 0.0, y_ = 0.0, xx_ = 0.0, yy_ = 0.0, xy_ = 0.0, squares_ = 0.0;
};

// Of texts whose n-grams are the judge's.
JudgeQuality quality_of(const LinearJudge& judge, const LabelledTexts& texts);

// "96.1 % of 4,000 texts right (always the same: 50.0 %), ...", for people.
std::string to_string(const Knob& knob, const JudgeQuality& quality);

}  // namespace semfuse
