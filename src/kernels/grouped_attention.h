// Causal attention over the keys and values of a growing text, where several heads of queries share a head of keys.
#pragma once

#include <cstddef>

#include "core/matrix_view.h"

namespace semfuse {

// Keys of so many tokens lie side by side: column i of token t's key of `width` numbers is at
// grouped_key_offset(t, width) + i * kGroupedKeyBlock.
constexpr std::size_t kGroupedKeyBlock = 16;
// Queries of a text that are worked on together.
constexpr std::size_t kGroupedQueryBlock = 48;

// Floats of scratch for a text of `length` tokens, 64-byte aligned.
constexpr std::size_t grouped_attention_scratch(std::size_t length) {
  return kGroupedQueryBlock * ((length + 15) / 16 * 16 + 16);
}

// What the tokens `first_token` ... of a text read in the heads of queries [first_head, first_head + num_heads), all of
// which share one head of keys. q and context: a row a token, columns of these heads only, at most kGroupedQueryBlock
// rows. keys: the blocks above from this head's first column on, of tokens `key_width` wide. values [tokens,
// head_width]: columns of this head. Token t reads tokens 0 ... t. What a token reads does not depend on which others
// are computed with it.
void grouped_attention(ConstMatrix q, const float* keys, std::size_t key_width, ConstMatrix values,
                       std::size_t first_token, std::size_t num_heads, Matrix context, float* scratch);

}  // namespace semfuse
