#include <vector>

#include "generation/prefix_classifier.h"
#include "kernels/softmax.h"
#include "steering/head_training.h"

namespace semfuse {

namespace {

class PrefixTraining : public HeadTraining {
 public:
  explicit PrefixTraining(std::size_t vocab_size) {
    words_ = layout_.add("words", {vocab_size});
    others_ = layout_.add("others", {kPrefixWeights});
    bias_ = layout_.add("bias", {1});
  }

  void initialise(std::uint64_t, ParameterBlock&) const override {}  // All 0: a linear model needs no more.

  double step(const HeadBatch& in, const ParameterBlock& weights, ParameterBlock& gradients) override {
    const std::size_t n = in.batch.num_tokens();
    std::vector<float> z(n);
    std::vector<float> labels(n);
    std::vector<PrefixTerms> terms(n);
    const float* words = weights.vector(layout_[words_]);
    const float* others = weights.vector(layout_[others_]);
    for (std::size_t text = 0; text < in.batch.num_sentences(); ++text) {
      const std::size_t first = in.batch.first_token[text];
      float sum = *weights.vector(layout_[bias_]);
      for (std::size_t i = first; i < in.batch.first_token[text + 1]; ++i) {
        const TokenId second_last = i > first ? in.batch.inputs[i - 1] : Vocabulary::kPad;
        terms[i] = prefix_terms(second_last, in.batch.inputs[i], in.batch.targets[i]);
        sum += words[terms[i].word] + others[terms[i].pair] + others[terms[i].triple];
        z[i] = sum;
        labels[i] = in.labels[text];
      }
    }
    const double loss = sigmoid_cross_entropy(z.data(), labels.data(), n, 1.0f / static_cast<float>(n));
    float* d_words = gradients.vector(layout_[words_]);
    float* d_others = gradients.vector(layout_[others_]);
    float* d_bias = gradients.vector(layout_[bias_]);
    // A term is in every prefix from its token on.
    for (std::size_t text = 0; text < in.batch.num_sentences(); ++text) {
      float d_sum = 0.0f;
      for (std::size_t i = in.batch.first_token[text + 1]; i-- > in.batch.first_token[text];) {
        d_sum += z[i];
        d_words[terms[i].word] += d_sum;
        d_others[terms[i].pair] += d_sum;
        d_others[terms[i].triple] += d_sum;
      }
      *d_bias += d_sum;
    }
    return loss / static_cast<double>(n);
  }

 private:
  ParameterId words_, others_, bias_;
};

}  // namespace

std::unique_ptr<HeadTraining> prefix_training(const ReadModel& model) {
  return std::make_unique<PrefixTraining>(model.model().vocabulary().size());
}

}  // namespace semfuse
