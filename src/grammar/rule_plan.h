// Which rules are written out where they are used, and how large the grammar then is.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/grammar_text.h"
#include "grammar/grammar_tree.h"

namespace semfuse {

inline constexpr std::uint64_t kMaxGrammarStates = 200'000;

struct RulePlan {
  std::vector<bool> inlined;                 // Of each rule: it is not recursive and small enough to be written out.
  std::vector<std::uint32_t> kept;           // Rules with an automaton of their own, in use; root comes first.
  std::vector<std::uint32_t> kept_index_of;  // Place in `kept` of each rule that is there.
};

// Throws Error if the grammar is too large with its repetitions written out.
RulePlan plan_rules(const GrammarTree& tree, const GrammarText& source);

}  // namespace semfuse
