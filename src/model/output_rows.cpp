#include "model/output_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace semfuse {

OutputRows::OutputRows(const Network& network, std::vector<TokenId> words, std::vector<float> features,
                       std::vector<float> bias)
    : network_(network),
      words_(std::move(words)),
      features_(std::move(features)),
      ungraded_(network.memberships() ? features_ : std::vector<float>()),
      bias_(std::move(bias)),
      num_rows_(words_.empty() ? features_.size() / network.num_features() : words_.size()),
      width_(network.options().width),
      rows_(num_rows_ * width_),
      d_rows_(num_rows_ * width_),
      forward_numbers_(packed_size(width_, num_rows_)),
      backward_numbers_(packed_size(num_rows_, width_)) {
  assert(features_.empty() || features_.size() == num_rows_ * network.num_features());
  assert(bias_.empty() || bias_.size() == num_rows_);
}

void OutputRows::refresh(const ParameterBlock& weights, std::span<const std::uint8_t> identity, ThreadPool& pool) {
  const Matrix rows(rows_.data(), num_rows_, width_);
  std::fill_n(rows_.data(), rows_.size(), 0.0f);
  const ConstMatrix table = weights.matrix(network_.layout()[network_.token_table()]);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const auto word = static_cast<std::size_t>(words_[i]);
    if (identity.empty() || identity[word] != 0) std::copy_n(table.row(word), width_, rows.row(i));
  }
  if (!ungraded_.empty()) {
    network_.memberships()->grade(weights, ungraded(), {features_.data(), num_rows_, network_.num_features()});
  }
  if (!features_.empty()) {
    add_mapped_rows(features(), weights.matrix(network_.layout()[network_.feature_map()]), rows);
  }
  pool.run(2, [&](std::size_t index, std::size_t) {
    if (index == 0) {
      pack_transposed(rows, forward_numbers_.data());
    } else {
      pack(rows, backward_numbers_.data());
    }
  });
}

void OutputRows::forward(ConstMatrix hidden, Matrix logits) const {
  matmul(hidden, {.data = forward_numbers_.data(), .depth = width_, .cols = num_rows_}, logits,
         {.bias = bias_.empty() ? nullptr : bias_.data()});
}

void OutputRows::backward(ConstMatrix d_logits, Matrix d_hidden, bool accumulate) const {
  matmul(d_logits, {.data = backward_numbers_.data(), .depth = num_rows_, .cols = width_}, d_hidden,
         {.accumulate = accumulate});
}

void OutputRows::gradients(ConstMatrix d_logits, ConstMatrix hidden, GradientTasks& tasks) {
  tasks.add(d_logits, hidden, {d_rows_.data(), num_rows_, width_});
}

void OutputRows::add_gradients(std::span<const std::uint8_t> identity, ParameterBlock& gradients) const {
  const ConstMatrix d_rows(d_rows_.data(), num_rows_, width_);
  const Matrix d_table = gradients.matrix(network_.layout()[network_.token_table()]);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const auto word = static_cast<std::size_t>(words_[i]);
    if (!identity.empty() && identity[word] == 0) continue;
    for (std::size_t j = 0; j < width_; ++j) d_table(word, j) += d_rows(i, j);
  }
  // rows = ... + features · W_sᵀ
  if (!features_.empty()) {
    const Matrix d_map = gradients.matrix(network_.layout()[network_.feature_map()]);
    matmul_transposed_a(d_rows, features(), d_map.column_range(0, features().cols()), /*accumulate=*/true);
  }
}

void OutputRows::add_gradients(const ParameterBlock& weights, MembershipLayer::Gradient& gradient) const {
  if (ungraded_.empty()) return;
  const ConstMatrix map =
      weights.matrix(network_.layout()[network_.feature_map()]).column_range(0, network_.num_features());
  AlignedFloats packed(packed_size(map.rows(), map.cols()));
  pack(map, packed.data());
  AlignedFloats numbers(features_.size());
  const Matrix d_features(numbers.data(), num_rows_, map.cols());
  matmul({d_rows_.data(), num_rows_, width_}, {.data = packed.data(), .depth = map.rows(), .cols = map.cols()},
         d_features, {});
  network_.memberships()->add_rows(weights, ungraded(), d_features, gradient);
}

}  // namespace semfuse
