// What top-k and top-p cut off a distribution over a large vocabulary, without sorting it.
#pragma once

#include <cstddef>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// Both take tokens by ascending id and leave the kept ones so. Where something is no number they keep too much rather
// than too little.

// Keeps the k most probable tokens (or those of the largest logits); of equal ones those of the smallest ids.
void keep_largest(std::vector<TokenProbability>& tokens, std::size_t k);

// Keeps what keep_nucleus() keeps of the sorted distribution. Takes probabilities that are not normalised, the largest
// at most 1, and leaves them so.
void keep_most_probable(std::vector<TokenProbability>& tokens, double top_p, Nucleus nucleus);

}  // namespace semfuse
