// How well generation does what its controls ask for.
#pragma once

#include <string>
#include <vector>

#include "semfuse/generator.h"

namespace semfuse {

// What a number of sentences under one setting turned out to be. The adjective of a sentence is the last word before
// its final mark.
struct ControlCounts {
  std::size_t trials = 0;
  std::size_t positive = 0;
  std::size_t negative = 0;
  std::size_t other = 0;        // Not an adjective with a polarity.
  std::size_t held_out = 0;     // Adjectives among the held-out words.
  std::size_t exclamation = 0;  // Sentences that end in "!".
  std::size_t question = 0;     // Sentences that end in "?".
};

ControlCounts count_controls(const Lexicon& lexicon, const std::vector<Generation>& generations,
                             const std::vector<std::string>& held_out);

// Sentences 0 ... trials - 1 of the request's seed. Throws Error if one of them fails.
std::vector<Generation> generate_many(const Generator& generator, const GenerationRequest& request, std::size_t trials);

}  // namespace semfuse
