#include "judge/judge_quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace semfuse {

QualityCount::QualityCount(const Knob& knob) : knob_(knob), labels_(std::max<std::size_t>(knob.labels.size(), 2)) {}

void QualityCount::add(std::span<const double> values, double target) {
  constexpr double kLeast = 1e-12;
  ++texts_;
  if (knob_.kind == KnobKind::scalar) {
    // Distances from the middle: plain squares of large numbers would lose what little they differ by.
    const double middle = (knob_.low + knob_.high) / 2.0;
    const double x = values[0] - middle, y = target - middle;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    yy_ += y * y;
    xy_ += x * y;
    squares_ += (x - y) * (x - y);
    return;
  }
  const auto label = static_cast<std::size_t>(target);
  ++labels_[label];
  const auto add_to_bin = [&](double said, bool happened) {
    Bin& bin = bins_[std::min(static_cast<std::size_t>(said * kBins), kBins - 1)];
    bin.said += said;
    bin.happened += happened ? 1.0 : 0.0;
  };
  if (knob_.kind == KnobKind::probability) {
    const double said = label == 1 ? values[0] : 1.0 - values[0];
    right_ += (values[0] > 0.5) == (label == 1) ? 1 : 0;
    log_loss_ -= std::log(std::max(said, kLeast));
    add_to_bin(values[0], label == 1);
    return;
  }
  const auto most = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  right_ += most == label ? 1 : 0;
  log_loss_ -= std::log(std::max(values[label], kLeast));
  add_to_bin(values[most], most == label);
}

JudgeQuality QualityCount::result() const {
  const double n = static_cast<double>(std::max<std::size_t>(texts_, 1));
  JudgeQuality quality{.texts = texts_};
  if (knob_.kind == KnobKind::scalar) {
    const double spread = (xx_ - x_ * x_ / n) * (yy_ - y_ * y_ / n);
    quality.correlation = spread > 0.0 ? (xy_ - x_ * y_ / n) / std::sqrt(spread) : 0.0;
    quality.error = std::sqrt(squares_ / n);
    return quality;
  }
  quality.accuracy = static_cast<double>(right_) / n;
  quality.majority = static_cast<double>(*std::ranges::max_element(labels_)) / n;
  quality.log_loss = log_loss_ / n;
  for (const Bin& bin : bins_) quality.calibration_error += std::abs(bin.said - bin.happened) / n;
  return quality;
}

JudgeQuality quality_of(const LinearJudge& judge, const LabelledTexts& texts) {
  QualityCount count(judge.knob());
  std::vector<double> values(judge.knob().num_values());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    judge.judge(texts.slots(i), values);
    count.add(values, texts.target(i));
  }
  return count.result();
}

std::string to_string(const Knob& knob, const JudgeQuality& quality) {
  if (knob.kind == KnobKind::scalar) {
    return fmt::format("correlation {:.3f}, error {:.3g} (root mean square), on {} texts", quality.correlation,
                       quality.error, quality.texts);
  }
  return fmt::format(
      "{:.1f} % of {} texts right (always the same: {:.1f} %), log loss {:.3f}, calibration error {:.3f}",
      100.0 * quality.accuracy, quality.texts, 100.0 * quality.majority, quality.log_loss, quality.calibration_error);
}

}  // namespace semfuse
