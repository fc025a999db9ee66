// Forward passes of sentences that grow: the logits after the last tokens of each.
#pragma once

#include <span>
#include <vector>

#include "model/inference_weights.h"
#include "model/key_value_cache.h"
#include "model/prefix_tree.h"

namespace semfuse {

// A sentence in the making. Change tokens and features at will between passes: what is still true of the last pass is
// not computed again, in a causal model.
struct TokenStream {
  TokenStream(const Network& network) : cache(network.options().layers, network.options().width) {}

  // Forgets everything.
  void clear();

  std::vector<TokenId> tokens;  // <bos> and the words so far
  std::vector<float> features;  // [tokens, num_features]
  std::size_t num_guesses = 0;  // So many of the last tokens are guesses: the logits before them are wanted too.
  // So many of the first tokens, with their features, are as they were at the last pass, and need not be compared. For
  // one pass: the next one compares all unless it is told again.
  std::size_t num_unchanged = 0;
  std::size_t num_shared = 1;  // So many of the first tokens are what other streams may begin with too.
  // [request columns], the same until clear(); empty: nothing is asked for.
  std::vector<float> request;

  KeyValueCache cache;
  std::vector<TokenId> computed_tokens;  // What the cache was computed from.
  std::vector<float> computed_features;
  std::size_t num_certain = 0;  // So many of them were no guesses.
};

// The result for a stream does not depend on the other streams of the pass, nor on earlier ones. One thread at a time.
class IncrementalPass {
 public:
  // `weights` must outlive it. In a causal model, streams that begin alike share the work of what they begin with, for
  // which up to `prefix_bytes` are kept.
  explicit IncrementalPass(const InferenceWeights& weights, std::size_t prefix_bytes = 0);

  // For each stream in turn, num_guesses + 1 rows of logits: those after each of its last num_guesses + 1 tokens. A
  // stream's first pass must have more tokens than guesses. Valid until the next call.
  Matrix run(std::span<TokenStream* const> streams);
  // The states that the last run's logits were computed from, [rows, width]; valid as long as these.
  ConstMatrix hidden() const { return hidden_; }

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
