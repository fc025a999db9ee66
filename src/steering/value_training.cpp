#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/random.h"
#include "generation/prefix_classifier.h"
#include "kernels/activations.h"
#include "kernels/matmul.h"
#include "kernels/reductions.h"
#include "kernels/softmax.h"
#include "steering/head_training.h"

namespace semfuse {

namespace {

constexpr std::size_t kInner = 128;  // Of the head's own layer: turns of a text are not linear in the state.
constexpr std::size_t kRank = 16;    // Of what tokens differ by: a row of the head is an eighth of a model's.

class ValueTraining : public HeadTraining {
 public:
  explicit ValueTraining(LogitRows rows) : width_(rows.width), rows_(std::move(rows)) {
    inner_ = layout_.add("inner.weight", {kInner, width_});
    inner_bias_ = layout_.add("inner.bias", {kInner});
    map_ = layout_.add("map.weight", {kRank, kInner});
    map_bias_ = layout_.add("map.bias", {kRank});
    projection_ = layout_.add("rows.weight", {kRank, width_});
    prefix_ = layout_.add("prefix.weight", {kInner});
    token_bias_ = layout_.add("token.bias", {rows_.size});
    words_ = layout_.add("words", {rows_.size});
    others_ = layout_.add("others", {kPrefixWeights});
    bias_ = layout_.add("bias", {1});
  }

  void initialise(std::uint64_t seed, ParameterBlock& weights) const override {
    const auto draw = [&](ParameterId id, double deviation) {
      const RandomStream random(seed, RandomPurpose::steering, (std::uint64_t{1} << 62) + static_cast<std::size_t>(id));
      float* numbers = weights.vector(layout_[id]);
      for (std::size_t i = 0; i < layout_[id].size; ++i) numbers[i] = static_cast<float>(deviation * random.normal(i));
    };
    draw(inner_, std::sqrt(2.0 / static_cast<double>(width_)));
    draw(map_, std::sqrt(1.0 / kInner));
    draw(projection_, std::sqrt(1.0 / static_cast<double>(width_)));
  }

  double step(const HeadBatch& in, const ParameterBlock& weights, ParameterBlock& gradients) override {
    const std::size_t n = in.hidden.rows();
    workspace_.reset();
    const Matrix u = workspace_.matrix(n, kInner);
    const Matrix q = workspace_.matrix(n, kRank);
    const Matrix p = workspace_.matrix(n, kRank);  // R row_v of the token that follows
    const Matrix next_rows = workspace_.matrix(n, width_);
    for (std::size_t i = 0; i < n; ++i) {
      rows_.read(static_cast<std::size_t>(in.batch.targets[i]), next_rows.row(i));
    }
    const auto linear = [&](ConstMatrix x, ParameterId map, const float* bias, bool relu, Matrix y) {
      const ConstMatrix matrix = weights.matrix(layout_[map]);
      float* packed = workspace_.floats(packed_size(matrix.cols(), matrix.rows()));
      pack_transposed(matrix, packed);
      matmul(x, {.data = packed, .depth = matrix.cols(), .cols = matrix.rows()}, y, {.bias = bias, .relu = relu});
    };
    linear(in.hidden, inner_, weights.vector(layout_[inner_bias_]), true, u);
    linear(u, map_, weights.vector(layout_[map_bias_]), false, q);
    linear(next_rows, projection_, nullptr, false, p);

    // z = q·p + c·u + b_v + what the tokens so far say, then its loss, whose gradient it becomes.
    const float* words = weights.vector(layout_[words_]);
    const float* others = weights.vector(layout_[others_]);
    std::vector<PrefixTerms> terms(n);
    const float* c = weights.vector(layout_[prefix_]);
    const float* token_bias = weights.vector(layout_[token_bias_]);
    std::vector<float> z(n);
    std::vector<float> labels(n);
    for (std::size_t text = 0; text < in.batch.num_sentences(); ++text) {
      const std::size_t first = in.batch.first_token[text];
      float so_far = *weights.vector(layout_[bias_]) + in.shift;
      for (std::size_t i = first; i < in.batch.first_token[text + 1]; ++i) {
        if (i > first) {
          const TokenId second_last = i > first + 1 ? in.batch.inputs[i - 2] : Vocabulary::kPad;
          terms[i] = prefix_terms(second_last, in.batch.inputs[i - 1], in.batch.inputs[i]);
          so_far += words[terms[i].word] + others[terms[i].pair] + others[terms[i].triple];
        }
        float sum = so_far + token_bias[static_cast<std::size_t>(in.batch.targets[i])];
        for (std::size_t j = 0; j < kRank; ++j) sum += q(i, j) * p(i, j);
        for (std::size_t j = 0; j < kInner; ++j) sum += c[j] * u(i, j);
        z[i] = sum;
        labels[i] = in.labels[text];
      }
    }
    const double loss = sigmoid_cross_entropy(z.data(), labels.data(), n, 1.0f / static_cast<float>(n));
    for (std::size_t text = 0; text < in.silent.size(); ++text) {
      const std::size_t first = in.batch.first_token[text];
      std::fill_n(z.begin() + static_cast<std::ptrdiff_t>(first), std::min(in.silent[text], in.batch.length(text)),
                  0.0f);
    }

    float* d_words = gradients.vector(layout_[words_]);
    float* d_others = gradients.vector(layout_[others_]);
    for (std::size_t text = 0; text < in.batch.num_sentences(); ++text) {
      const std::size_t first = in.batch.first_token[text];
      float d_so_far = 0.0f;
      for (std::size_t i = in.batch.first_token[text + 1]; i-- > first;) {
        d_so_far += z[i];
        if (i == first) break;
        d_words[terms[i].word] += d_so_far;
        d_others[terms[i].pair] += d_so_far;
        d_others[terms[i].triple] += d_so_far;
      }
      *gradients.vector(layout_[bias_]) += d_so_far;
    }
    const Matrix d_u = workspace_.matrix(n, kInner);
    const Matrix d_q = workspace_.matrix(n, kRank);
    const Matrix d_p = workspace_.matrix(n, kRank);
    float* d_token_bias = gradients.vector(layout_[token_bias_]);
    float* d_c = gradients.vector(layout_[prefix_]);
    for (std::size_t i = 0; i < n; ++i) {
      d_token_bias[static_cast<std::size_t>(in.batch.targets[i])] += z[i];
      for (std::size_t j = 0; j < kRank; ++j) d_q(i, j) = z[i] * p(i, j);
      for (std::size_t j = 0; j < kRank; ++j) d_p(i, j) = z[i] * q(i, j);
      for (std::size_t j = 0; j < kInner; ++j) d_c[j] += z[i] * u(i, j);
      for (std::size_t j = 0; j < kInner; ++j) d_u(i, j) = z[i] * c[j];
    }
    // q = u · Mᵀ + a, u = relu(h · Bᵀ + b), p = rows · Rᵀ
    const ConstMatrix map = weights.matrix(layout_[map_]);
    float* packed = workspace_.floats(packed_size(kRank, kInner));
    pack(map, packed);
    matmul(d_q, {.data = packed, .depth = kRank, .cols = kInner}, d_u, {.accumulate = true});
    relu_dropout_backward(u, 1.0f, d_u);
    matmul_transposed_a(d_q, u, gradients.matrix(layout_[map_]), true);
    column_sums(d_q, gradients.vector(layout_[map_bias_]), true);
    matmul_transposed_a(d_u, in.hidden, gradients.matrix(layout_[inner_]), true);
    column_sums(d_u, gradients.vector(layout_[inner_bias_]), true);
    matmul_transposed_a(d_p, next_rows, gradients.matrix(layout_[projection_]), true);
    return loss / static_cast<double>(n);
  }

 private:
  std::size_t width_;
  LogitRows rows_;
  ParameterId inner_, inner_bias_, map_, map_bias_, projection_, prefix_, token_bias_;
  ParameterId words_, others_, bias_;
  Workspace workspace_;
};

}  // namespace

std::unique_ptr<HeadTraining> value_training(const ReadModel& model) {
  return std::make_unique<ValueTraining>(model.logit_rows());
}

}  // namespace semfuse
