#include "grammar/automaton.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "grammar/determinise.h"
#include "grammar/minimise.h"
#include "grammar/state_runs.h"

namespace semfuse {
namespace {

bool leads_nowhere(const RuleAutomaton::State& state) {
  return state.accepting && state.bytes.empty() && state.calls.empty() && state.empty.empty();
}

}  // namespace

Automaton::Automaton(const RuleNfa& nfa) {
  states_.push_back({.accepting = true});  // kEnd
  constexpr StateId kNone = 0xFFFFFFFF;
  std::vector<StateId> starts(nfa.rules.size(), kNone);
  struct PendingCall {
    StateId from;
    std::size_t edge;
    std::uint32_t rule;
  };
  std::vector<PendingCall> pending;
  std::vector<std::uint32_t> open = {0};
  std::vector<bool> queued(nfa.rules.size());
  queued[0] = true;
  while (!open.empty()) {
    const std::uint32_t rule = open.back();
    open.pop_back();
    std::optional<RuleAutomaton> deterministic = determinise(nfa, rule);
    RuleAutomaton automaton = deterministic ? minimise(*deterministic) : copy_rule(nfa, rule);
    std::vector<StateId> ids(automaton.states.size(), kEnd);
    auto next = static_cast<StateId>(states_.size());
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (!leads_nowhere(automaton.states[s])) ids[s] = next++;
    }
    starts[rule] = ids[0];
    states_.resize(next);
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (ids[s] == kEnd) continue;
      State& state = states_[ids[s]];
      state.accepting = automaton.states[s].accepting;
      for (const auto& edge : automaton.states[s].bytes)
        state.bytes.push_back({edge.low, edge.high, ids[edge.target], edge.contexts});
      for (const std::uint32_t target : automaton.states[s].empty) state.empty.push_back(ids[target]);
      for (const auto& edge : automaton.states[s].calls) {
        pending.push_back({ids[s], state.calls.size(), edge.rule});
        state.calls.push_back({kNone, ids[edge.target]});
        if (!queued[edge.rule]) open.push_back(edge.rule);
        queued[edge.rule] = true;
      }
    }
  }
  for (const PendingCall& call : pending) states_[call.from].calls[call.edge].start = starts[call.rule];
  root_ = starts[0];
  has_calls_ = !pending.empty();
  for (const State& state : states_) {
    for (const ByteEdge& edge : state.bytes) {
      std::fill(&bytes_used_[edge.low], &bytes_used_[edge.high] + 1, true);
      has_settings_ |= edge.contexts != kNothingSet;
    }
  }
  runs_ = find_state_runs(*this);
}

}  // namespace semfuse
