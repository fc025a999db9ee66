// Joins states of a rule's automaton from which the same goes on.
#pragma once

#include "grammar/determinise.h"

namespace semfuse {

// The automaton is deterministic: it has no empty edges. Takes about n log n steps for n edges.
RuleAutomaton minimise(const RuleAutomaton& automaton);

}  // namespace semfuse
