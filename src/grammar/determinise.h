// One rule's automaton with sets of its states as states (subset construction).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grammar/rule_nfa.h"

namespace semfuse {

// A rule by itself: states count from 0, the start; calls name rules.
struct RuleAutomaton {
  struct ByteEdge {
    std::uint8_t low = 0;
    std::uint8_t high = 0;
    std::uint32_t target = 0;
    ContextSet contexts = kNothingSet;

    // Whether it reads on where the other ends, and is otherwise the same.
    bool continues(const ByteEdge& other) const {
      return other.target == target && other.contexts == contexts && other.high + 1 == low;
    }
  };
  struct CallEdge {
    std::uint32_t rule = 0;
    std::uint32_t target = 0;
  };
  struct State {
    std::vector<ByteEdge> bytes;
    std::vector<CallEdge> calls;
    std::vector<std::uint32_t> empty;
    bool accepting = false;
  };
  std::vector<State> states;
};

// Nothing if the sets grow out of proportion.
std::optional<RuleAutomaton> determinise(const RuleNfa& nfa, std::uint32_t rule);

// The same states as there, empty edges and all; those that no text leads to and that lead nowhere are left out.
RuleAutomaton copy_rule(const RuleNfa& nfa, std::uint32_t rule);

}  // namespace semfuse
