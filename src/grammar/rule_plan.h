// Which rules are written out where they are used.
#pragma once

#include <cstdint>
#include <vector>

#include "grammar/grammar_tree.h"

namespace semfuse {

struct RulePlan {
  std::vector<bool>
      inlined;  // Of each rule: it is written out where it is used. One that calls itself at most at its end.
  // Of each expression: a repetition whose body is written once and counted. Such a body reads something each time.
  std::vector<bool> counted;
  std::vector<bool> holds_counted;           // Of each expression: such a repetition is within it, not behind a call.
  std::vector<std::uint32_t> kept;           // Rules with an automaton of their own, in use; root comes first.
  std::vector<std::uint32_t> kept_index_of;  // Place in `kept` of each rule that is there.
};

// Writes out rules with bodies up to that size, in states, their own rules written out included.
RulePlan plan_rules(const GrammarTree& tree, std::uint64_t largest);

// How many states each expression has, about, if no rule is written out. A counted repetition is small.
std::vector<std::uint64_t> expression_sizes(const GrammarTree& tree);

}  // namespace semfuse
