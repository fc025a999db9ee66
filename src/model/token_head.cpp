#include "model/token_head.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace semfuse {

namespace {

std::size_t number_of_rows(const Network& network, const OutputRows& rows) {
  if (!rows.words.empty()) return rows.words.size();
  return rows.features.empty() ? network.vocab_size() : rows.features.size() / network.num_word_columns();
}

// rows [n, width] += features [n, F] · mapᵀ for the first F columns of map
void add_mapped_rows(ConstMatrix features, ConstMatrix map, Matrix rows) {
  AlignedFloats numbers(packed_size(features.cols(), map.rows()));
  pack_transposed(map.column_range(0, features.cols()), numbers.data());
  matmul(features, {.data = numbers.data(), .depth = features.cols(), .cols = map.rows()}, rows, {.accumulate = true});
}

}  // namespace

OutputRows output_rows(const Network& network, std::vector<TokenId> words) {
  OutputRows rows{.words = std::move(words), .features = {}, .bias = {}};
  if (!network.options().output_features || network.word_features().data() == nullptr) return rows;
  if (rows.words.empty()) {
    rows.bias = network.logit_offsets();
    rows.words.resize(network.vocab_size());
    std::iota(rows.words.begin(), rows.words.end(), TokenId{0});
  }
  for (const TokenId word : rows.words) {
    const float* row = network.word_features().row(static_cast<std::size_t>(word));
    rows.features.insert(rows.features.end(), row, row + network.num_word_columns());
  }
  return rows;
}

TokenHead::TokenHead(const Network& network, OutputRows rows, Use use)
    : network_(network),
      rows_of_(std::move(rows)),
      ungraded_(network.memberships() ? rows_of_.features : std::vector<float>()),
      num_rows_(number_of_rows(network, rows_of_)),
      width_(network.options().width),
      rows_(is_table() ? 0 : num_rows_ * width_),
      d_rows_(use == Use::training ? rows_.size() : 0),
      numbers_(PackedMap::size(num_rows_, width_, use == Use::training ? width_ : 0)),
      packed_(num_rows_, width_, use == Use::training ? width_ : 0, numbers_.data()) {
  assert(rows_of_.features.empty() || rows_of_.features.size() == num_rows_ * network.num_word_columns());
  assert(rows_of_.bias.empty() || rows_of_.bias.size() == num_rows_);
}

void TokenHead::set_features(std::size_t row, std::span<const float> features) {
  std::vector<float>& all = ungraded_.empty() ? rows_of_.features : ungraded_;
  std::copy(features.begin(), features.end(), all.begin() + static_cast<std::ptrdiff_t>(row * features.size()));
}

void TokenHead::compute_rows(const ParameterBlock& weights, std::span<const std::uint8_t> identity) {
  const Matrix rows(rows_.data(), num_rows_, width_);
  std::fill_n(rows_.data(), rows_.size(), 0.0f);
  const ConstMatrix table = weights.matrix(network_.layout()[network_.token_table()]);
  for (std::size_t i = 0; i < rows_of_.words.size(); ++i) {
    const auto word = static_cast<std::size_t>(rows_of_.words[i]);
    if (identity.empty() || identity[word] != 0) std::copy_n(table.row(word), width_, rows.row(i));
  }
  if (!ungraded_.empty()) {
    network_.memberships()->grade(weights, ungraded(), {rows_of_.features.data(), num_rows_, network_.num_features()});
  }
  if (!rows_of_.features.empty()) {
    add_mapped_rows(features(), weights.matrix(network_.layout()[network_.feature_map()]), rows);
  }
}

void TokenHead::refresh(const ParameterBlock& weights, std::span<const std::uint8_t> identity, ThreadPool& pool) {
  assert(!is_table() || identity.empty());
  if (!is_table()) compute_rows(weights, identity);
  refreshed_ = is_table() ? weights.matrix(network_.layout()[network_.token_table()])
                          : ConstMatrix(rows_.data(), num_rows_, width_);
  pool.run(packed_.num_tasks(), [&](std::size_t task, std::size_t) { packed_.pack(refreshed_, task); });
}

void TokenHead::forward(ConstMatrix hidden, Matrix logits) const {
  packed_.forward(hidden, logits, {.bias = rows_of_.bias.empty() ? nullptr : rows_of_.bias.data()});
}

void TokenHead::backward(ConstMatrix d_logits, Matrix d_hidden, bool accumulate) const {
  packed_.backward(d_logits, d_hidden, accumulate);
}

void TokenHead::gradients(ConstMatrix d_logits, ConstMatrix hidden, GradientTasks& tasks) {
  if (is_table()) {
    tasks.add(network_.token_table(), d_logits, hidden);
  } else {
    tasks.add(d_logits, hidden, {d_rows_.data(), num_rows_, width_});
  }
}

void TokenHead::add_gradients(std::span<const std::uint8_t> identity, ParameterBlock& gradients) const {
  if (is_table()) return;
  const ConstMatrix d_rows(d_rows_.data(), num_rows_, width_);
  const Matrix d_table = gradients.matrix(network_.layout()[network_.token_table()]);
  for (std::size_t i = 0; i < rows_of_.words.size(); ++i) {
    const auto word = static_cast<std::size_t>(rows_of_.words[i]);
    if (!identity.empty() && identity[word] == 0) continue;
    for (std::size_t j = 0; j < width_; ++j) d_table(word, j) += d_rows(i, j);
  }
  // rows = ... + features · W_sᵀ
  if (!rows_of_.features.empty()) {
    const Matrix d_map = gradients.matrix(network_.layout()[network_.feature_map()]);
    matmul_transposed_a(d_rows, features(), d_map.column_range(0, features().cols()), /*accumulate=*/true);
  }
}

void TokenHead::add_gradients(const ParameterBlock& weights, MembershipLayer::Gradient& gradient) const {
  if (ungraded_.empty()) return;
  const ConstMatrix map =
      weights.matrix(network_.layout()[network_.feature_map()]).column_range(0, network_.num_features());
  AlignedFloats packed(packed_size(map.rows(), map.cols()));
  pack(map, packed.data());
  AlignedFloats numbers(rows_of_.features.size());
  const Matrix d_features(numbers.data(), num_rows_, map.cols());
  matmul({d_rows_.data(), num_rows_, width_}, {.data = packed.data(), .depth = map.rows(), .cols = map.cols()},
         d_features, {});
  network_.memberships()->add_rows(weights, ungraded(), d_features, gradient);
}

}  // namespace semfuse
