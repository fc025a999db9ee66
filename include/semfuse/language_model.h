// A small Transformer language model: its options, its parameters, its logits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/feature_bank.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Which positions a token may read. Stored with the model: a perplexity means nothing without it.
enum class AttentionMask { causal, bidirectional };

std::string_view to_string(AttentionMask mask);

struct ModelOptions {
  std::size_t width = 128;                                   // Size of a token's vector; a multiple of `heads` and even.
  std::size_t layers = 4;                                    // Encoder layers.
  std::size_t heads = 4;                                     // Attention heads of a layer.
  std::size_t feed_forward = 256;                            // Inner size of the feed-forward block.
  double dropout = 0.1;                                      // In [0, 1): attention weights, attention output, feed-forward inner and output.
  AttentionMask attention = AttentionMask::bidirectional;    // The paper's encoder reads both ways.
  bool fusion = true;                                        // Fuse features into the embedding and learn to read them back.
  std::size_t feature_head = 64;                             // Inner size of the head that reads features back.
};

}  // namespace semfuse
