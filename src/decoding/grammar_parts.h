// What a Grammar holds.
#pragma once

#include <string>
#include <vector>

#include "decoding/automaton.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct Grammar::Parts {
  std::string origin;
  Automaton automaton;
  std::vector<RuleSetting> settings;
  GrammarTree::Contexts contexts;  // Of settings.
};

}  // namespace semfuse
