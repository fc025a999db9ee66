// Trains taggers from sentences whose parts of speech are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "features/conllu.h"
#include "features/tagger.h"

namespace semfuse {

struct TaggerTrainingOptions {
  std::size_t passes = 8;  // Over the sentences; more for a small treebank. At least 1.
  // Of each reading, the most useful ones that the tagger keeps. Fewer make its file smaller (about 7 bytes each) and
  // the tagger a little worse.
  std::size_t features = 60000;
  std::size_t least_count = 2;  // Features that are rarer in the sentences are left out.
  std::uint64_t seed = 1;       // Decides the order of the sentences.
};

// Told after each pass of the two trainings: which one it was of how many. False ends the training.
using TaggerProgress = std::function<bool(std::size_t pass, std::size_t num_passes)>;

// The same sentences and options give the same bits. Throws Error if there is no sentence, an option is out of its
// range, or `progress` ended it.
Tagger train_tagger(std::span<const TaggedSentence> sentences, const TaggerTrainingOptions& options = {},
                    const TaggerProgress& progress = nullptr);

}  // namespace semfuse
