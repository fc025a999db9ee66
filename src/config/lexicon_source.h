// Where the lexicon of an experiment comes from, and how it fits the words of a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "semfuse/experiment.h"

namespace semfuse {

// Any other name is that of a file.
bool is_builtin_lexicon(std::string_view name);

// What a person should know before training: words of the model that its lexicon lacks, and words of the lexicon that
// the model lacks; a sentence each.
std::vector<std::string> lexicon_gaps(const LanguageModel& model, std::string_view lexicon_name);

}  // namespace semfuse
