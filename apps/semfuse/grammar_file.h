// A grammar as the command line names it.
#pragma once

#include <string>

#include "semfuse/grammar.h"
#include "semfuse/lexicon.h"

namespace semfuse {

// The file of that name, or the built-in grammar if there is no such file. Throws Error.
Grammar find_grammar(const std::string& name_or_path, const Lexicon& lexicon);

}  // namespace semfuse
