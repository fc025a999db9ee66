// Adds words to the model of a run by describing them: a larger model in a folder of its own, without training.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "semfuse/lexicon.h"

namespace semfuse {

struct WordAddition {
  std::filesystem::path model;      // The larger one's file.
  std::size_t num_added = 0;        // Words that were described.
  std::size_t vocab_size = 0;       // Entries of the larger one's vocabulary.
  std::vector<std::string> doubts;  // Words that it may use or read wrongly: unfamiliar_words().
};

// `run` is a run folder or a model file, `out` a folder that is made anew, with the configuration and what it names if
// the run has them; no training can go on in it. `origin` says where the words are from, for messages. Throws Error as
// LanguageModel::with_words() and files do; what was written is then removed.
WordAddition add_words(const std::filesystem::path& run, const std::vector<LexiconEntry>& words,
                       const std::string& origin, const std::filesystem::path& out);

}  // namespace semfuse
