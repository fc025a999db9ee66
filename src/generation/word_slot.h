// Which class of words a grammar leaves a choice of.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "semfuse/grammar.h"
#include "semfuse/lexicon.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// The class id of every vocabulary entry: that of the lexicon, `other` for words that it lacks and the special entries.
std::vector<std::size_t> word_classes(const Vocabulary& vocabulary, const Lexicon& lexicon);

// The id of the class that all allowed words have, those of class `other` apart; `other` if they differ or there are
// none.
std::size_t slot_of(const TokenSet& allowed, std::span<const std::size_t> classes);

// As people read it: empty for `other`.
std::string_view slot_name(std::size_t slot, const Lexicon& lexicon);

}  // namespace semfuse
