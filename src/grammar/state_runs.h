// How long a state of an automaton reads on, whatever bytes of certain groups come.
#pragma once

#include <vector>

#include "grammar/automaton.h"

namespace semfuse {

// Of each state.
std::vector<StateRun> find_state_runs(const Automaton& automaton);

}  // namespace semfuse
