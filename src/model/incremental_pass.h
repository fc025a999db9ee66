// Forward passes of sentences that grow: the logits after the last token of each.
#pragma once

#include <span>
#include <vector>

#include "model/key_value_cache.h"
#include "model/network.h"

namespace semfuse {

// A sentence in the making. Change tokens and features at will between passes: what is still true of the last pass is
// not computed again, in a causal model.
struct TokenStream {
  TokenStream(const Network& network) : cache(network.options().layers, network.options().width) {}

  std::vector<TokenId> tokens;  // <bos> and the words so far
  std::vector<float> features;  // [tokens, num_features]

  KeyValueCache cache;
  std::vector<TokenId> computed_tokens;  // What the cache was computed from.
  std::vector<float> computed_features;
};

// The result for a stream does not depend on the other streams of the pass. One thread at a time.
class IncrementalPass {
 public:
  // All three must outlive it.
  IncrementalPass(const Network& network, const ParameterBlock& weights, const PackedWeights& packed);

  // Row i of the result: logits after the last token of stream i. Valid until the next call.
  Matrix run(std::span<TokenStream* const> streams);

 private:
  std::size_t known_tokens(const TokenStream& stream) const;

  const Network& network_;
  const ParameterBlock& weights_;
  const PackedWeights& packed_;
  PositionTable positions_;
  Workspace workspace_;
};

}  // namespace semfuse
