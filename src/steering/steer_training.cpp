#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/matmul.h"
#include "kernels/softmax.h"
#include "steering/head_training.h"

namespace semfuse {

namespace {

// logits = (h + s·W h)·rowsᵀ with s = 2 · label - 1, trained as a language model.
class SteerTraining : public HeadTraining {
 public:
  explicit SteerTraining(const InferenceWeights& weights)
      : weights_(weights), width_(weights.network.options().width), numbers_(packed_size(weights.head.size(), width_)) {
    map_ = layout_.add("map.weight", {width_, width_});
    pack(weights.head.rows(), numbers_.data());
  }

  void initialise(std::uint64_t, ParameterBlock&) const override {}  // All 0: the model as it is.

  double step(const HeadBatch& in, const ParameterBlock& weights, ParameterBlock& gradients) override {
    const std::size_t n = in.hidden.rows();
    const std::size_t vocab_size = weights_.head.size();
    workspace_.reset();
    const Matrix moved = workspace_.matrix(n, width_);
    const Matrix d_moved = workspace_.matrix(n, width_);
    float* packed = workspace_.floats(packed_size(width_, width_));
    pack_transposed(weights.matrix(layout_[map_]), packed);
    matmul(in.hidden, {.data = packed, .depth = width_, .cols = width_}, moved);
    std::vector<float> sign(n);
    for (std::size_t text = 0; text < in.batch.num_sentences(); ++text) {
      for (std::size_t i = in.batch.first_token[text]; i < in.batch.first_token[text + 1]; ++i) {
        sign[i] = 2.0f * in.labels[text] - 1.0f;
        for (std::size_t j = 0; j < width_; ++j) moved(i, j) = in.hidden(i, j) + sign[i] * moved(i, j);
      }
    }
    double loss = 0.0;
    const Matrix logits = workspace_.matrix(std::min(kRows, n), vocab_size);
    for (std::size_t first = 0; first < n; first += kRows) {
      const std::size_t count = std::min(kRows, n - first);
      const Matrix some = logits.row_range(0, count);
      weights_.head.forward(moved.row_range(first, count), some);
      for (std::size_t i = 0; i < count; ++i) {
        const auto target = static_cast<std::size_t>(in.batch.targets[first + i]);
        const float scale = 1.0f / static_cast<float>(n);
        const float logit = some(i, target);
        loss += softmax_gradient(some.row(i), vocab_size, 0.0f, scale).log_sum_exp - logit;
        some(i, target) -= scale;
      }
      matmul(some, {.data = numbers_.data(), .depth = vocab_size, .cols = width_}, d_moved.row_range(first, count));
    }
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < width_; ++j) d_moved(i, j) *= sign[i];
    }
    matmul_transposed_a(d_moved, in.hidden, gradients.matrix(layout_[map_]), true);
    return loss / static_cast<double>(n);
  }

 private:
  static constexpr std::size_t kRows = 128;  // Whose logits are there at once.

  const InferenceWeights& weights_;
  std::size_t width_;
  AlignedFloats numbers_;  // The output rows, packed for d_hidden = d_logits · rows.
  ParameterId map_;
  Workspace workspace_;
};

}  // namespace

std::unique_ptr<HeadTraining> steer_training(const ReadModel& model) {
  return std::make_unique<SteerTraining>(model.weights());
}

}  // namespace semfuse
