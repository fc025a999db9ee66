// How long a state of an automaton reads on, whatever bytes of certain groups come.
#pragma once

#include <span>
#include <vector>

#include "grammar/automaton.h"

namespace semfuse {

// Of each of some states whose edges lead to each other; the first is where nothing goes on.
std::vector<StateRun> find_state_runs(std::span<const Automaton::State> states);

// Groups of which every character leads from one state to the other, which may be none of them.
ByteGroups groups_between(std::span<const Automaton::State> states, StateId from, StateId to);

}  // namespace semfuse
