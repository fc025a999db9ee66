// What a Grammar holds.
#pragma once

#include <string>
#include <vector>

#include "grammar/automaton.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct Grammar::Parts {
  std::string origin;
  std::string gbnf;
  Automaton automaton;
  std::vector<RuleSetting> settings;
  GrammarTree::Contexts contexts;  // Of settings.
};

// For tests of what lies beneath a grammar.
struct GrammarAccess {
  static const Automaton& automaton(const Grammar& grammar) { return grammar.parts_->automaton; }
};

}  // namespace semfuse
