// What a Grammar holds.
#pragma once

#include <string>

#include "decoding/automaton.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct Grammar::Parts {
  std::string origin;
  Automaton automaton;
};

}  // namespace semfuse
