// From hidden states to logits: logits = hidden · rowsᵀ + bias. A row is E[w], E[w] + W_s·lex(w), or W_s·(a feature
// row) for a class of words. Training and inference compute rows here and nowhere else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/workspace.h"
#include "model/network.h"

namespace semfuse {

// What output rows are made of. Nothing at all: they are the token table as it is, which is read without a copy.
struct OutputRows {
  std::vector<TokenId> words;  // Row i begins as E[words[i]]; empty: as 0.
  std::vector<float>
      features;  // [rows, num_word_columns], ungraded if memberships are learned: W_s times its row is added.
  std::vector<float> bias;  // [rows]: added to the logits.
};

// The rows that the network's options want for some words; empty: for all, with the network's offsets.
OutputRows output_rows(const Network& network, std::vector<TokenId> words = {});

// Computed and packed anew whenever weights have changed. forward and backward may be called from several threads.
class TokenHead {
 public:
  enum class Use { inference, training };  // Without training there are no gradients, nor memory for them.

  // `network` must outlive it.
  TokenHead(const Network& network, OutputRows rows, Use use);
  TokenHead(const TokenHead&) = delete;
  TokenHead& operator=(const TokenHead&) = delete;

  std::size_t size() const { return num_rows_; }
  // Those of the last refresh, [rows, width]; without the bias.
  ConstMatrix rows() const { return refreshed_; }

  // Other features for a row that has some, from the next refresh on.
  void set_features(std::size_t row, std::span<const float> features);

  // Rows of these weights, which must stay where they are. E counts for tokens that have their identity; empty: for
  // all. The table as it is has no words to leave out.
  void refresh(const ParameterBlock& weights, std::span<const std::uint8_t> identity, ThreadPool& pool);

  // logits = hidden · rowsᵀ + bias
  void forward(ConstMatrix hidden, Matrix logits) const;
  // d_hidden (+)= d_logits · rows
  void backward(ConstMatrix d_logits, Matrix d_hidden, bool accumulate) const;
  // The gradient of the rows, over all tokens of a leaf. If they are the token table, it is the table's.
  void gradients(ConstMatrix d_logits, ConstMatrix hidden, GradientTasks& tasks);
  bool is_table() const { return rows_of_.words.empty() && rows_of_.features.empty(); }
  // Adds the gradient of rows that are no parameter to that of E and W_s; once a leaf.
  void add_gradients(std::span<const std::uint8_t> identity, ParameterBlock& gradients) const;
  // The same for the memberships that grade the features, if they are learned.
  void add_gradients(const ParameterBlock& weights, MembershipLayer::Gradient& gradient) const;

 private:
  ConstMatrix features() const { return {rows_of_.features.data(), num_rows_, network_.num_word_columns()}; }
  ConstMatrix ungraded() const { return {ungraded_.data(), num_rows_, network_.num_features()}; }
  void compute_rows(const ParameterBlock& weights, std::span<const std::uint8_t> identity);

  const Network& network_;
  OutputRows rows_of_;
  std::vector<float> ungraded_;  // If memberships are learned; rows_of_.features are then those of these weights.
  std::size_t num_rows_;
  std::size_t width_;
  AlignedFloats rows_;    // [rows, width]; empty if they are the token table.
  AlignedFloats d_rows_;  // [rows, width]; empty without training.
  ConstMatrix refreshed_;
  AlignedFloats numbers_;
  PackedMap packed_;
};

}  // namespace semfuse
