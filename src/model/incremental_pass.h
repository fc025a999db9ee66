// Forward passes of sentences that grow: the logits after the last tokens of each.
#pragma once

#include <span>
#include <vector>

#include "model/inference_weights.h"
#include "model/prefix_tree.h"
#include "model/stream_pass.h"

namespace semfuse {

// The result for a stream does not depend on the other streams of the pass, nor on earlier ones. One thread at a time.
class IncrementalPass : public StreamPass {
 public:
  // `weights` must outlive it. In a causal model, streams that begin alike share the work of what they begin with, for
  // which up to `prefix_bytes` are kept.
  explicit IncrementalPass(const InferenceWeights& weights, std::size_t prefix_bytes = 0);

  Matrix run(std::span<TokenStream* const> streams) override;
  ConstMatrix states(std::span<TokenStream* const> streams) override;
  std::optional<std::size_t> num_known(const TokenStream& stream) override;
  ConstMatrix hidden() const override { return hidden_; }

 private:
  bool causal() const { return network_.options().attention == AttentionMask::causal; }
  std::span<const float> feature_row(const TokenStream& stream, std::size_t token) const;
  std::span<const float> prefix_key(const TokenStream& stream, std::size_t token);
  std::size_t unchanged_tokens(const TokenStream& stream) const;
  std::size_t recall(TokenStream& stream, PrefixTree::Node& last);
  void remember(const TokenStream& stream, ConstMatrix hidden);

  const InferenceWeights& weights_;
  const Network& network_;
  PositionTable positions_;
  Workspace workspace_;
  ConstMatrix hidden_;
  PrefixTree prefixes_;         // The numbers of a token: its keys and values, then its hidden state.
  std::vector<float> numbers_;  // Of one token, on their way into the tree.
  std::vector<float> key_;
};

}  // namespace semfuse
