#include "generation/pplm_source.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/matmul.h"
#include "kernels/reductions.h"
#include "kernels/softmax.h"
#include "model/past_step.h"
#include "semfuse/error.h"

namespace semfuse {

namespace {

constexpr std::size_t kSteps = 3;
constexpr double kDivergence = 0.01;
constexpr double kMovedShare = 0.9;

class PplmText : public TextState {
 public:
  PplmText(const InferenceWeights& weights, const MeanClassifier& classifier, const AlignedFloats& rows, double target,
           double strength)
      : weights_(weights),
        classifier_(classifier),
        rows_(rows),
        target_(target),
        strength_(strength),
        step_(weights),
        past_(weights.network.options().layers, weights.network.options().width),
        d_past_(past_),
        sum_(weights.network.options().width),
        last_(sum_.size()),
        d_hidden_(sum_.size()),
        moved_(weights.network.vocab_size()) {}

  void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override {
    // States of tokens that came without being drawn belong to the mean too.
    readings.push_back({.request = asked.row, .num_rows = tokens.size() - num_read_});
  }

  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override {
    const ReadRows& read = readings.front();
    add_states(read.hidden);
    num_read_ = place.tokens.size();
    if (num_read_ < 2 || strength_ == 0.0) return;  // Without a past there is nothing to move.
    const std::span<float> logits = read.next();
    past_ = read.stream->cache;
    d_past_.reserve(num_read_);
    step_.begin(*read.stream);
    for (std::size_t i = 0; i < kSteps; ++i) {
      const std::span<const float> hidden = step_.forward(past_);
      classifier_.loss(sum_, hidden, num_read_, target_, d_hidden_);
      if (i > 0) add_divergence(hidden, logits);  // At first nothing has moved, so its gradient is 0.
      step_.backward(d_hidden_, d_past_);
      move_past();
    }
    compute_moved(step_.forward(past_));
    fuse_moved(words_of(logits), words_of(std::span(moved_)), kMovedShare);
  }

 private:
  // <pad> and <bos> are never drawn, so they count nowhere.
  template <typename T>
  static std::span<T> words_of(std::span<T> logits) {
    return logits.subspan(Vocabulary::kEos);
  }

  // Leaves the sum of all states but that of the last token.
  void add_states(ConstMatrix hidden) {
    for (std::size_t r = 0; r < hidden.rows(); ++r) {
      for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += last_[j];
      std::copy_n(hidden.row(r), last_.size(), last_.begin());
    }
  }

  void compute_moved(std::span<const float> hidden) {
    weights_.head.forward({hidden.data(), 1, hidden.size()}, {moved_.data(), 1, moved_.size()});
  }

  void add_divergence(std::span<const float> hidden, std::span<const float> logits) {
    compute_moved(hidden);
    std::fill_n(moved_.begin(), Vocabulary::kEos, 0.0f);
    divergence(words_of(std::span(moved_)), words_of(logits), kDivergence);
    matmul({moved_.data(), 1, moved_.size()}, {.data = rows_.data(), .depth = moved_.size(), .cols = d_hidden_.size()},
           {d_hidden_.data(), 1, d_hidden_.size()}, {.accumulate = true});
  }

  // A step of the same length in each layer.
  void move_past() {
    for (std::size_t layer = 0; layer < weights_.network.options().layers; ++layer) {
      const std::span<float> keys = past_.key_blocks(layer, num_read_);
      const std::span<const float> d_keys = d_past_.key_blocks(layer, num_read_);
      const Matrix values = past_.values(layer, num_read_);
      const Matrix d_values = d_past_.values(layer, num_read_);
      const std::size_t num_values = values.rows() * values.cols();
      const double norm =
          std::sqrt(sum_of_squares(d_keys.data(), d_keys.size()) + sum_of_squares(d_values.data(), num_values));
      if (norm == 0.0) continue;
      const auto rate = static_cast<float>(strength_ / norm);
      for (std::size_t i = 0; i < keys.size(); ++i) keys[i] -= rate * d_keys[i];
      for (std::size_t i = 0; i < num_values; ++i) values.data()[i] -= rate * d_values.data()[i];
    }
  }

  const InferenceWeights& weights_;
  const MeanClassifier& classifier_;
  const AlignedFloats& rows_;
  double target_;
  double strength_;
  PastStep step_;
  KeyValueCache past_;
  KeyValueCache d_past_;
  std::size_t num_read_ = 0;  // Tokens of the text when it was last combined,
  std::vector<double> sum_;   // the sum of their states but the last,
  std::vector<float> last_;   // and that one.
  std::vector<float> d_hidden_;
  std::vector<float> moved_;
};

}  // namespace

MeanClassifier::MeanClassifier(const SteeringHead& head, std::size_t width)
    : weight_(head.tensor("mean.weight").values) {
  const std::vector<float>& bias = head.tensor("mean.bias").values;
  if (weight_.size() != width || bias.size() != 1) {
    throw Error("the head was trained for a model of another size; train one for this model");
  }
  bias_ = bias.front();
}

double MeanClassifier::loss(std::span<const double> sum, std::span<const float> hidden, std::size_t count,
                            double target, std::span<float> d_hidden) const {
  assert(sum.size() == weight_.size() && hidden.size() == weight_.size() && d_hidden.size() == weight_.size());
  const auto n = static_cast<double>(count);
  double z = bias_;
  for (std::size_t j = 0; j < weight_.size(); ++j) z += weight_[j] * (sum[j] + hidden[j]) / n;
  const double d_z = 1.0 / (1.0 + std::exp(-z)) - target;
  for (std::size_t j = 0; j < weight_.size(); ++j) d_hidden[j] = static_cast<float>(d_z * weight_[j] / n);
  return std::max(z, 0.0) - target * z + std::log1p(std::exp(-std::abs(z)));
}

double divergence(std::span<float> moved, std::span<const float> model, double weight) {
  assert(moved.size() == model.size());
  const float moved_sum = log_sum_exp(moved.data(), moved.size());
  const float model_sum = log_sum_exp(model.data(), model.size());
  // KL = Σ p ln(p/q), whose gradient is p (ln(p/q) - KL).
  double sum = 0.0;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const float log_p = moved[i] - moved_sum;
    sum += std::exp(log_p) * (log_p - (model[i] - model_sum));
  }
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const float log_p = moved[i] - moved_sum;
    moved[i] = static_cast<float>(weight * std::exp(log_p) * ((log_p - (model[i] - model_sum)) - sum));
  }
  return weight * sum;
}

void fuse_moved(std::span<float> model, std::span<const float> moved, double share) {
  assert(model.size() == moved.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    model[i] = static_cast<float>(share * moved[i] + (1.0 - share) * model[i]);
  }
}

PplmSource::PplmSource(const LanguageModel& model, const SteeringHead& head, double target, double strength)
    : classifier_(head, model.options().width), target_(target), strength_(strength) {
  const ReadModel read(model);
  const ConstMatrix rows = read.weights().head.rows();
  rows_ = AlignedFloats(packed_size(rows.rows(), rows.cols()));
  pack(rows, rows_.data());
}

std::unique_ptr<TextState> PplmSource::open(const ReadModel& model, const GenerationRequest&) const {
  return std::make_unique<PplmText>(model.weights(), classifier_, rows_, target_, strength_);
}

}  // namespace semfuse
