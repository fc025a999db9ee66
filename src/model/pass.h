// What a layer needs to know about the pass it takes part in.
#pragma once

#include <cstdint>
#include <span>

#include "batching/batch.h"
#include "core/parameter_block.h"
#include "kernels/dropout.h"
#include "model/linear.h"
#include "semfuse/language_model.h"

namespace semfuse {

// Dropout of one training step; the default drops nothing, as in evaluation.
struct DropoutPlan {
  double rate = 0.0;
  std::uint64_t seed = 0;
  std::uint64_t step = 0;

  // The mask of one of a layer's sites.
  enum class Site : std::uint64_t { attention_weights, attention_output, feed_forward_inner, feed_forward_output };
  DropoutMask mask(std::size_t layer, Site site) const {
    return rate > 0.0 ? DropoutMask(rate, seed, step, layer * 4 + static_cast<std::uint64_t>(site)) : DropoutMask();
  }
};

class KeyValueCache;

struct Pass {
  const Batch& batch;
  const ParameterLayout& layout;
  const ParameterBlock& weights;
  const PackedWeights& packed;
  AttentionMask attention;
  DropoutPlan dropout;
  // Of each sentence of the batch, what it has so far: the batch then holds the tokens after it, in causal attention.
  // Empty if the sentences are whole.
  std::span<KeyValueCache* const> past = {};
  // Backward with a past, of one token a sentence: what becomes the gradient of the past, with room for it.
  std::span<KeyValueCache* const> d_past = {};
  // By token id, whether its own row of the table is read; empty: every token's is.
  std::span<const std::uint8_t> identity = {};

  bool has_identity(TokenId token) const { return identity.empty() || identity[static_cast<std::size_t>(token)] != 0; }
  const float* vector(ParameterId id) const { return weights.vector(layout[id]); }
  // The row of a dropout mask that belongs to the shard's first token.
  std::size_t dropout_row(const Shard& shard) const { return batch.first_row + shard.first_token; }
};

}  // namespace semfuse
