// Output rows that are more than a parameter: E[w] + W_s·lex(w) for some words, or W_s·(a feature row) for classes of
// words. Computed and packed anew in each training step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/workspace.h"
#include "model/network.h"

namespace semfuse {

class OutputRows {
 public:
  // Row i is E[words[i]], if there are words, plus W_s · features row i, if there are features [rows, num_features],
  // ungraded if memberships are learned; bias [rows], if there is one, is added to the logits. `network` must outlive
  // it.
  OutputRows(const Network& network, std::vector<TokenId> words, std::vector<float> features, std::vector<float> bias);

  std::size_t size() const { return num_rows_; }

  // E counts for tokens that have their identity; empty: for all.
  void refresh(const ParameterBlock& weights, std::span<const std::uint8_t> identity, ThreadPool& pool);

  // logits = hidden · rowsᵀ + bias
  void forward(ConstMatrix hidden, Matrix logits) const;
  // d_hidden (+)= d_logits · rows
  void backward(ConstMatrix d_logits, Matrix d_hidden, bool accumulate) const;
  // The gradient of the rows, over all tokens of a chunk.
  void gradients(ConstMatrix d_logits, ConstMatrix hidden, GradientTasks& tasks);
  // Adds the gradient of the rows to that of E and W_s; once a step, after the last chunk.
  void add_gradients(std::span<const std::uint8_t> identity, ParameterBlock& gradients) const;
  // The same for the memberships that grade the features, if they are learned.
  void add_gradients(const ParameterBlock& weights, MembershipLayer::Gradient& gradient) const;

 private:
  ConstMatrix features() const { return {features_.data(), num_rows_, network_.num_features()}; }
  ConstMatrix ungraded() const { return {ungraded_.data(), num_rows_, network_.num_features()}; }

  const Network& network_;
  std::vector<TokenId> words_;
  std::vector<float> features_;
  std::vector<float> ungraded_;  // If memberships are learned; features_ are then those of this step.
  std::vector<float> bias_;
  std::size_t num_rows_;
  std::size_t width_;
  AlignedFloats rows_;    // [rows, width]
  AlignedFloats d_rows_;  // [rows, width]
  AlignedFloats forward_numbers_;
  AlignedFloats backward_numbers_;
};

}  // namespace semfuse
