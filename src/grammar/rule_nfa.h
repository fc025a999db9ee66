// Rules as nondeterministic automata over bytes and calls of other rules (Thompson's construction).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grammar/grammar_text.h"
#include "grammar/grammar_tree.h"
#include "grammar/rule_plan.h"
#include "grammar/rule_settings.h"

namespace semfuse {

// The automata of all kept rules in one numbering. Rules are numbered as in RulePlan::kept: 0 is root.
struct RuleNfa {
  enum class EdgeKind : std::uint8_t { empty, bytes, call };

  struct Edge {
    EdgeKind kind = EdgeKind::empty;
    std::uint8_t low = 0;  // bytes: inclusive.
    std::uint8_t high = 0;
    ContextSet contexts = kNothingSet;  // bytes: what is set where they are read.
    std::uint32_t rule = 0;             // call: the rule, or kCounted + a place in `counters`.
    std::uint32_t target = 0;
  };

  struct Rule {
    std::uint32_t start = 0;
    std::uint32_t accept = 0;  // The only accepting state; nothing leaves it.
    std::uint32_t num_states = 0;
  };

  // A rule that is called so often, one time behind the other; it reads something each time.
  struct Counter {
    std::uint32_t rule = 0;
    std::uint32_t least = 0;
    std::uint32_t most = 0;
  };
  static constexpr std::uint32_t kCounted = 0x80000000;

  std::vector<Rule> rules;  // The kept ones, then bodies of counted repetitions.
  std::vector<Counter> counters;
  std::vector<std::uint32_t> first_edge;  // [num_states + 1]
  std::vector<Edge> edges;
  std::vector<bool> alive;  // The state reaches its rule's end through rules that have an end.

  // The rule that a call edge needs.
  std::uint32_t rule_of(const Edge& edge) const {
    return edge.rule < kCounted ? edge.rule : counters[edge.rule - kCounted].rule;
  }
  bool can_call(const Edge& edge) const { return alive[rules[rule_of(edge)].start]; }

  std::uint32_t num_states() const { return static_cast<std::uint32_t>(first_edge.size() - 1); }
  std::span<const Edge> edges_of(std::uint32_t state) const {
    return {edges.data() + first_edge[state], edges.data() + first_edge[state + 1]};
  }
};

// Nothing if that has more states.
std::optional<RuleNfa> build_rule_nfa(const GrammarTree& tree, const RulePlan& plan, std::size_t most_states);

// With as many rules written out as keeps the whole small. Throws Error if it is too large at best.
RuleNfa build_rule_nfa(const GrammarTree& tree, const GrammarText& source);

}  // namespace semfuse
