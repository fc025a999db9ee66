// The files of corpora/, which the build puts into the library: texts for people who bring none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/embedded_text.h"

namespace semfuse {

// As they lie in the folder, packed.
const std::vector<EmbeddedText>& embedded_corpora();

// The corpus of that name; null if there is none. Files of data end in what they hold, so a bare name is never one.
const EmbeddedText* find_builtin_corpus(const std::filesystem::path& name);

std::vector<std::string> builtin_corpus_names();

// The file's name from the root; that of a built-in corpus as it is.
std::string absolute_data_name(const std::string& file);

}  // namespace semfuse
