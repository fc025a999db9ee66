// Chooses the pieces of a vocabulary: training of byte-level BPE.
#pragma once

#include <cstddef>
#include <span>

#include "text/tokenizer_parts.h"
#include "text/word_counts.h"

namespace semfuse {

// Begins with the bytes and joins the two pieces that most often stand side by side inside a word, again and again,
// until there are `size` entries or no pair occurs twice. Of equally frequent pairs that with the smaller ids is first.
// Pairs whose bytes are an entry already are passed over.
// The result depends on the words and their counts, not on their order.
TokenizerParts train_pieces(std::span<const CountedWord> words, std::size_t size);

}  // namespace semfuse
