// Reads sentences with parts of speech from CoNLL-U, the format of Universal Dependencies: ten columns with tabs
// between, a word a line, an empty line after each sentence.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "features/universal_tag.h"

namespace semfuse {

struct TaggedSentence {
  std::vector<std::string> words;
  std::vector<UniversalTag> tags;  // One a word.
};

// Columns 1, 2 and 4 (number, word, part of speech) are read, the others only counted. Lines of several words written
// as one (3-4) and of words that were left out (5.1) do not count. Throws Error as "origin:line: what" for anything
// else, and for a text without a sentence.
std::vector<TaggedSentence> parse_conllu(std::string_view text, std::string_view origin);
std::vector<TaggedSentence> load_conllu(const std::filesystem::path& path);

}  // namespace semfuse
