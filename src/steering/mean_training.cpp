#include <vector>

#include "kernels/softmax.h"
#include "steering/head_training.h"

namespace semfuse {

namespace {

// z = w · (mean hidden state of the text) + b
class MeanTraining : public HeadTraining {
 public:
  explicit MeanTraining(std::size_t width) {
    weight_ = layout_.add("mean.weight", {width});
    bias_ = layout_.add("mean.bias", {1});
  }

  void initialise(std::uint64_t, ParameterBlock&) const override {}  // All 0: a linear model needs no more.

  double step(const HeadBatch& in, const ParameterBlock& weights, ParameterBlock& gradients) override {
    const std::size_t width = in.hidden.cols();
    const std::size_t n = in.batch.num_sentences();
    const float* w = weights.vector(layout_[weight_]);
    std::vector<float> means(n * width);
    std::vector<float> z(n, *weights.vector(layout_[bias_]));
    for (std::size_t text = 0; text < n; ++text) {
      float* mean = means.data() + text * width;
      const float share = 1.0f / static_cast<float>(in.batch.length(text));
      for (std::size_t i = in.batch.first_token[text]; i < in.batch.first_token[text + 1]; ++i) {
        for (std::size_t j = 0; j < width; ++j) mean[j] += share * in.hidden(i, j);
      }
      for (std::size_t j = 0; j < width; ++j) z[text] += w[j] * mean[j];
    }
    const double loss = sigmoid_cross_entropy(z.data(), in.labels.data(), n, 1.0f / static_cast<float>(n));
    float* d_w = gradients.vector(layout_[weight_]);
    for (std::size_t text = 0; text < n; ++text) {
      for (std::size_t j = 0; j < width; ++j) d_w[j] += z[text] * means[text * width + j];
      *gradients.vector(layout_[bias_]) += z[text];
    }
    return loss / static_cast<double>(n);
  }

 private:
  ParameterId weight_, bias_;
};

}  // namespace

std::unique_ptr<HeadTraining> mean_training(const ReadModel& model) {
  return std::make_unique<MeanTraining>(model.weights().network.options().width);
}

}  // namespace semfuse
