// Reads GBNF text into rules.
#pragma once

#include <cstddef>

#include "grammar/grammar_text.h"
#include "grammar/grammar_tree.h"
#include "semfuse/grammar.h"

namespace semfuse {

inline constexpr std::size_t kMaxGrammarBytes = 1 << 20;
inline constexpr std::uint32_t kMaxGrammarDepth = 200;
inline constexpr std::uint32_t kMaxRepetitions = 65'536;
inline constexpr std::size_t kMaxSettings = 256;

// Throws Error for text that is not well formed, uses a rule or word class that does not exist, or passes a limit.
GrammarTree parse_gbnf(const GrammarText& source, const WordsOfClass& words_of_class);

}  // namespace semfuse
