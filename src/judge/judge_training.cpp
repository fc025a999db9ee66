#include "judge/judge_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.h"
#include "core/random_order.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kFewestTexts = 20;

// The texts that take part: to train on, and held out.
struct Parts {
  std::vector<std::size_t> train, held_out;
};

Parts parts_of(const LabelledTexts& texts, double share, const std::function<bool(std::size_t)>& takes) {
  Parts parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (takes && !takes(i)) continue;
    const double place = static_cast<double>(mix_bits(~texts.hash(i)) >> 11) * 0x1p-53;
    (place < share ? parts.held_out : parts.train).push_back(i);
  }
  const std::string what = texts.knob().source;
  if (parts.train.size() < kFewestTexts || parts.held_out.empty()) {
    throw Error(fmt::format("{} texts have a label of {}; a judge takes {} at least, so label more",
                            parts.train.size() + parts.held_out.size(), what, 2 * kFewestTexts));
  }
  const double first = texts.target(parts.train.front());
  const auto is_first = [&](std::size_t text) { return texts.target(text) == first; };
  if (std::ranges::all_of(parts.train, is_first)) {
    throw Error(fmt::format("all texts have the same label of {}; a judge needs two", what));
  }
  return parts;
}

// Slots that enough texts have, ascending; an n-gram that a text repeats counts as often.
std::vector<std::int32_t> known_slots(const LabelledTexts& texts, const std::vector<std::size_t>& train,
                                      std::size_t min_count) {
  std::vector<std::uint32_t> counts(std::size_t{1} << texts.slot_options().bits);
  for (const std::size_t text : train) {
    for (const std::uint32_t slot : texts.slots(text)) ++counts[slot];
  }
  std::vector<std::int32_t> known;
  for (std::size_t slot = 0; slot < counts.size(); ++slot) {
    if (counts[slot] >= min_count) known.push_back(static_cast<std::int32_t>(slot));
  }
  return known;
}

// AdaGrad on one text after the other, the rate falling to 0.
class Descent {
 public:
  Descent(const LabelledTexts& texts, const std::vector<std::size_t>& train, const JudgeTrainingOptions& options)
      : texts_(texts), train_(train), options_(options), num_values_(texts.knob().num_values()) {
    weights_.knob = texts.knob();
    weights_.slots = texts.slot_options();
    weights_.known = known_slots(texts, train, options.min_count);
    weights_.weights.resize(weights_.known.size() * num_values_);
    weights_.bias.resize(num_values_);
    row_of_.assign(std::size_t{1} << weights_.slots.bits, -1);
    for (std::size_t row = 0; row < weights_.known.size(); ++row)
      row_of_[static_cast<std::size_t>(weights_.known[row])] = static_cast<std::int32_t>(row);
    squares_.assign(weights_.weights.size(), kFirstSquare);
    bias_squares_.assign(num_values_, kFirstSquare);
    if (weights_.knob.kind == KnobKind::scalar) unit_ = standard_unit();
  }

  JudgeWeights run() {
    const std::uint64_t steps = options_.passes * train_.size();
    for (std::size_t pass = 0; pass < options_.passes; ++pass) {
      const RandomOrder order(train_.size(), options_.seed, pass);
      for (std::size_t i = 0; i < train_.size(); ++i) {
        const double done = static_cast<double>(pass * train_.size() + i) / static_cast<double>(steps);
        learn(train_[order(i)], options_.rate * (1.0 - done));
        if (i % kBetweenReports == 0 && options_.on_progress) options_.on_progress(done);
      }
    }
    if (options_.on_progress) options_.on_progress(1.0);
    for (float& weight : weights_.weights) weight = static_cast<float>(static_cast<double>(weight) * unit_.second);
    for (float& bias : weights_.bias) bias = static_cast<float>(static_cast<double>(bias) * unit_.second + unit_.first);
    return std::move(weights_);
  }

 private:
  static constexpr float kFirstSquare = 1e-3f;
  static constexpr std::size_t kBetweenReports = 4096;

  // Mean and deviation of a scalar, which is learned in these units.
  std::pair<double, double> standard_unit() const {
    double sum = 0.0, squares = 0.0;
    for (const std::size_t text : train_) sum += texts_.target(text);
    const double mean = sum / static_cast<double>(train_.size());
    for (const std::size_t text : train_) squares += (texts_.target(text) - mean) * (texts_.target(text) - mean);
    return {mean, std::sqrt(squares / static_cast<double>(train_.size()))};
  }

  // The derivative of the loss by each sum.
  void differentiate(double target, std::span<double> z) const {
    if (weights_.knob.kind == KnobKind::scalar) {
      z[0] -= (target - unit_.first) / unit_.second;
      return;
    }
    to_values(weights_.knob, z);
    if (weights_.knob.kind == KnobKind::distribution) {
      z[static_cast<std::size_t>(target)] -= 1.0;
    } else {
      z[0] -= target;
    }
  }

  void learn(std::size_t text, double rate) {
    rows_.clear();
    for (const std::uint32_t slot : texts_.slots(text)) {
      if (row_of_[slot] >= 0) rows_.push_back(static_cast<std::size_t>(row_of_[slot]) * num_values_);
    }
    const double scale = rows_.empty() ? 0.0 : 1.0 / std::sqrt(static_cast<double>(rows_.size()));
    d_z_.assign(num_values_, 0.0);
    for (const std::size_t row : rows_) {
      for (std::size_t v = 0; v < num_values_; ++v) d_z_[v] += static_cast<double>(weights_.weights[row + v]);
    }
    for (std::size_t v = 0; v < num_values_; ++v) d_z_[v] = d_z_[v] * scale + static_cast<double>(weights_.bias[v]);
    differentiate(texts_.target(text), d_z_);
    const auto update = [&](float& weight, float& square, double gradient) {
      square += static_cast<float>(gradient * gradient);
      weight -= static_cast<float>(rate * gradient / std::sqrt(static_cast<double>(square)));
    };
    for (const std::size_t row : rows_) {
      for (std::size_t v = 0; v < num_values_; ++v) {
        float& weight = weights_.weights[row + v];
        update(weight, squares_[row + v], d_z_[v] * scale + options_.decay * static_cast<double>(weight));
      }
    }
    for (std::size_t v = 0; v < num_values_; ++v) update(weights_.bias[v], bias_squares_[v], d_z_[v]);
  }

  const LabelledTexts& texts_;
  const std::vector<std::size_t>& train_;
  const JudgeTrainingOptions& options_;
  std::size_t num_values_;
  JudgeWeights weights_;
  std::vector<std::int32_t> row_of_;
  std::vector<float> squares_, bias_squares_;
  std::pair<double, double> unit_ = {0.0, 1.0};
  std::vector<std::size_t> rows_;
  std::vector<double> d_z_;
};

// What a judge says before σ, softmax or range: [texts, values].
std::vector<double> sums_of(const JudgeWeights& weights, const LabelledTexts& texts,
                            const std::vector<std::size_t>& which) {
  JudgeWeights linear = weights;
  linear.knob = {.name = "sum", .kind = KnobKind::scalar, .source = "sum", .low = -1e300, .high = 1e300};
  const std::size_t num_values = weights.bias.size();
  std::vector<double> sums(which.size() * num_values);
  // Of several values there is no range that could cut them: only the first is cut.
  const LinearJudge judge(std::move(linear));
  for (std::size_t i = 0; i < which.size(); ++i)
    judge.judge(texts.slots(which[i]), std::span(sums).subspan(i * num_values, num_values));
  return sums;
}

// The log loss, or the squared error, of sums times `scale` around `origin`.
double loss_of(const Knob& knob, const std::vector<double>& sums, const LabelledTexts& texts,
               const std::vector<std::size_t>& which, double origin, double scale) {
  const std::size_t num_values = knob.num_values();
  std::vector<double> values(num_values);
  double loss = 0.0;
  for (std::size_t i = 0; i < which.size(); ++i) {
    for (std::size_t v = 0; v < num_values; ++v) values[v] = origin + scale * (sums[i * num_values + v] - origin);
    const double target = texts.target(which[i]);
    if (knob.kind == KnobKind::scalar) {
      loss += (values[0] - target) * (values[0] - target);
      continue;
    }
    to_values(knob, values);
    const double said = knob.kind == KnobKind::distribution ? values[static_cast<std::size_t>(target)]
                        : target == 1.0                     ? values[0]
                                                            : 1.0 - values[0];
    loss -= std::log(std::max(said, 1e-12));
  }
  return loss;
}

// The scale with the smallest loss, by golden section over its logarithm.
double best_scale(const std::function<double(double scale)>& loss) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kSteps = 24;
  double low = -2.0, high = 2.0;
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double loss_a = loss(std::exp(a)), loss_b = loss(std::exp(b));
  for (int step = 0; step < kSteps; ++step) {
    if (loss_a <= loss_b) {
      high = b, b = a, loss_b = loss_a;
      a = high - kGolden * (high - low);
      loss_a = loss(std::exp(a));
    } else {
      low = a, a = b, loss_a = loss_b;
      b = low + kGolden * (high - low);
      loss_b = loss(std::exp(b));
    }
  }
  return std::exp((low + high) / 2.0);
}

}  // namespace

TrainedJudge train_judge(const LabelledTexts& texts, const JudgeTrainingOptions& options,
                         const std::function<bool(std::size_t text)>& takes) {
  const Knob& knob = texts.knob();
  const Parts parts = parts_of(texts, options.held_out, takes);
  JudgeWeights weights = Descent(texts, parts.train, options).run();
  const std::vector<double> sums = sums_of(weights, texts, parts.held_out);
  const double origin = knob.kind == KnobKind::scalar ? static_cast<double>(weights.bias[0]) : 0.0;
  const double scale =
      best_scale([&](double tried) { return loss_of(knob, sums, texts, parts.held_out, origin, tried); });
  for (float& weight : weights.weights) weight = static_cast<float>(static_cast<double>(weight) * scale);
  for (float& bias : weights.bias) bias = static_cast<float>(origin + (static_cast<double>(bias) - origin) * scale);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::ranges::all_of(weights.weights, is_finite) || !std::ranges::all_of(weights.bias, is_finite)) {
    throw Error(
        fmt::format("the labels of {} are too large or too close to learn; write them in another unit", knob.source));
  }
  TrainedJudge trained{.judge = LinearJudge(std::move(weights)), .quality = {}, .texts = parts.train.size()};
  QualityCount count(trained.judge.knob());
  std::vector<double> values(knob.num_values());
  for (const std::size_t text : parts.held_out) {
    trained.judge.judge(texts.slots(text), values);
    count.add(values, texts.target(text));
  }
  trained.quality = count.result();
  return trained;
}

}  // namespace semfuse
