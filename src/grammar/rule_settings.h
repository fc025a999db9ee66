// Settings that rules carry: which of them hold where.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/grammar_text.h"
#include "grammar/grammar_tree.h"

namespace semfuse {

// A set of GrammarTree::contexts, a bit each.
using ContextSet = std::uint32_t;
inline constexpr std::uint32_t kMaxContexts = 32;
inline constexpr ContextSet kNothingSet = 1;

constexpr ContextSet context_set(std::uint32_t context) {
  return ContextSet{1} << context;
}

// The same language, with settings taken from references to the literals and characters that they reach: a rule that is
// used in several contexts becomes several rules. What is set inside goes before what is set around it. Throws Error
// for too many contexts or copies.
GrammarTree spread_settings(GrammarTree tree, const GrammarText& source);

// The settings of some contexts, each once, ascending.
std::vector<std::size_t> settings_of(ContextSet contexts, const GrammarTree::Contexts& all);

}  // namespace semfuse
