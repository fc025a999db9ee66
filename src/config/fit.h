// Whether the values of an experiment are in range and fit together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "semfuse/experiment.h"

namespace semfuse {

struct Misfit {
  std::vector<std::string> keys;  // The keys to blame, the likeliest first. Never empty.
  std::string complaint;          // One sentence that names the keys.
};

// The first thing wrong with the experiment, or nothing.
std::optional<Misfit> find_misfit(const Experiment& experiment);

// Entries of the vocabulary, at most.
std::size_t vocab_size_of(const Experiment& experiment);

}  // namespace semfuse
