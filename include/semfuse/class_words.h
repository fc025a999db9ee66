// Lets grammars speak of the classes of a lexicon: `@adjective`.
#pragma once

#include "semfuse/grammar.h"
#include "semfuse/lexicon.h"

namespace semfuse {

// The words of each class of the lexicon, which is copied.
WordsOfClass words_of(const Lexicon& lexicon);

}  // namespace semfuse
