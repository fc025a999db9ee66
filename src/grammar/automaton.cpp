#include "grammar/automaton.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "grammar/determinise.h"
#include "grammar/minimise.h"
#include "grammar/state_runs.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using AutomatonState = Automaton::State;

bool leads_nowhere(const RuleAutomaton::State& state) {
  return state.accepting && state.bytes.empty() && state.calls.empty() && state.empty.empty();
}

RuleAutomaton small_automaton(const RuleNfa& nfa, std::uint32_t rule) {
  std::optional<RuleAutomaton> deterministic = determinise(nfa, rule);
  return deterministic ? minimise(*deterministic) : copy_rule(nfa, rule);
}

// Least number of bytes from the first state to the one behind the last. A call reads one at least, or the body reads
// something else.
std::uint32_t shortest_way(const std::vector<AutomatonState>& body) {
  std::vector<std::uint32_t> distance(body.size() + 1, 0xFFFFFFFF);
  std::deque<StateId> open = {0};
  distance[0] = 0;
  const auto reach = [&](StateId target, std::uint32_t length) {
    if (length < distance[target]) {
      distance[target] = length;
      open.push_back(target);
    }
  };
  while (!open.empty()) {
    const StateId at = open.front();
    open.pop_front();
    if (at == body.size()) continue;
    for (const StateId target : body[at].empty) reach(target, distance[at]);
    for (const Automaton::CallEdge& edge : body[at].calls) reach(edge.target, distance[at]);
    for (const Automaton::ByteEdge& edge : body[at].bytes) reach(edge.target, distance[at] + 1);
  }
  return std::max(distance[body.size()], 1u);
}

// Of the states of a body, as find_state_runs() wants them.
std::vector<StateRun> body_runs(const std::vector<AutomatonState>& body) {
  std::vector<AutomatonState> states(body.size() + 1);
  for (std::size_t s = 0; s < body.size(); ++s) {
    for (Automaton::ByteEdge edge : body[s].bytes) {
      edge.target = edge.target == body.size() ? Automaton::kEnd : edge.target + 1;
      states[s + 1].bytes.push_back(edge);
    }
  }
  std::vector<StateRun> runs = find_state_runs(states);
  runs.erase(runs.begin());
  return runs;
}

}  // namespace

class Automaton::Builder {
 public:
  Builder(Automaton& automaton, const RuleNfa& nfa)
      : automaton_(automaton), nfa_(nfa), starts_(nfa.rules.size(), kNone), queued_(nfa.rules.size()) {}

  void build() {
    automaton_.states_.push_back({.accepting = true});  // kEnd
    queue(0);
    while (!open_.empty()) {
      const std::uint32_t rule = open_.back();
      open_.pop_back();
      add_rule(rule);
    }
    for (const PendingCall& call : pending_) {
      std::vector<State>& states = call.body == kNone ? automaton_.states_ : bodies_[call.body];
      states[call.from].calls[call.edge].start = starts_[call.rule];
    }
    automaton_.root_ = starts_[0];
    automaton_.has_calls_ = !pending_.empty();
    automaton_.runs_ = find_state_runs(automaton_.states_);
    add_bodies();
    look_at_bytes();
  }

 private:
  struct PendingCall {
    std::uint32_t body;  // In bodies_, or kNone for a state of a rule.
    StateId from;
    std::size_t edge;
    std::uint32_t rule;
  };

  void queue(std::uint32_t rule) {
    if (!queued_[rule]) open_.push_back(rule);
    queued_[rule] = true;
  }

  void add_rule(std::uint32_t rule) {
    const RuleAutomaton automaton = small_automaton(nfa_, rule);
    std::vector<StateId> ids(automaton.states.size(), kEnd);
    auto next = static_cast<StateId>(automaton_.states_.size());
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (!leads_nowhere(automaton.states[s])) ids[s] = next++;
    }
    starts_[rule] = ids[0];
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (ids[s] == kEnd) continue;
      State state = with_ids(automaton.states[s], ids, kNone, ids[s]);
      state.accepting = automaton.states[s].accepting;
      automaton_.states_.push_back(std::move(state));
    }
  }

  // The end of the body is the first state of its next time.
  std::uint32_t body_of(std::uint32_t rule) {
    const auto [found, added] = body_of_.emplace(rule, static_cast<std::uint32_t>(bodies_.size()));
    if (!added) return found->second;
    const RuleAutomaton automaton = small_automaton(nfa_, rule);
    const auto size = static_cast<StateId>(std::count_if(automaton.states.begin(), automaton.states.end(),
                                                         [](const auto& s) { return !leads_nowhere(s); }));
    std::vector<StateId> ids(automaton.states.size(), size);
    StateId next = 0;
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (!leads_nowhere(automaton.states[s])) ids[s] = next++;
    }
    bodies_.emplace_back();
    std::vector<State> body;
    for (std::size_t s = 0; s < ids.size(); ++s) {
      if (ids[s] == size) continue;
      body.push_back(with_ids(automaton.states[s], ids, found->second, ids[s]));
      if (automaton.states[s].accepting) body.back().empty.push_back(size);
    }
    bodies_[found->second] = std::move(body);
    return found->second;
  }

  State with_ids(const RuleAutomaton::State& from, const std::vector<StateId>& ids, std::uint32_t body, StateId id) {
    State state;
    state.bytes.reserve(from.bytes.size());
    for (const auto& edge : from.bytes) state.bytes.push_back({edge.low, edge.high, ids[edge.target], edge.contexts});
    for (const std::uint32_t target : from.empty) state.empty.push_back(ids[target]);
    for (const auto& edge : from.calls) {
      if (edge.rule >= RuleNfa::kCounted) {
        state.empty.push_back(counter(edge.rule - RuleNfa::kCounted, ids[edge.target]));
        continue;
      }
      pending_.push_back({body, id, state.calls.size(), edge.rule});
      state.calls.push_back({kNone, ids[edge.target]});
      queue(edge.rule);
    }
    return state;
  }

  // Its first state.
  StateId counter(std::uint32_t index, StateId exit) {
    const RuleNfa::Counter& counted = nfa_.counters[index];
    const auto [found, added] = counter_of_.emplace(std::pair(index, exit), automaton_.counters_.size());
    if (added) {
      Counter counter = {.body = body_of(counted.rule), .least = counted.least, .most = counted.most, .exit = exit};
      counter.size = static_cast<std::uint32_t>(bodies_[counter.body].size());
      counter.first = static_cast<StateId>(next_counted_);
      next_counted_ += std::uint64_t{counter.size} * counter.most + 1;
      if (next_counted_ >= kNone) throw Error("grammar: its repetitions are too many to be counted; lower the counts");
      automaton_.counters_.push_back(counter);
    }
    return automaton_.counters_[found->second].first;
  }

  void add_bodies() {
    std::vector<StateId> first;
    std::vector<std::uint32_t> shortest;
    std::vector<ByteGroups> groups;
    for (std::vector<State>& body : bodies_) {
      first.push_back(static_cast<StateId>(automaton_.states_.size()));
      shortest.push_back(shortest_way(body));
      groups.push_back(groups_between(body, 0, static_cast<StateId>(body.size())));
      const std::vector<StateRun> runs = body_runs(body);
      automaton_.runs_.insert(automaton_.runs_.end(), runs.begin(), runs.end());
      std::move(body.begin(), body.end(), std::back_inserter(automaton_.states_));
    }
    for (Counter& counter : automaton_.counters_) {
      counter.shortest = shortest[counter.body];
      counter.groups = groups[counter.body];
      counter.body = first[counter.body];
    }
  }

  void look_at_bytes() {
    std::array<bool, 257> begins{};
    for (const State& state : automaton_.states_) {
      for (const ByteEdge& edge : state.bytes) {
        std::fill(&automaton_.bytes_used_[edge.low], &automaton_.bytes_used_[edge.high] + 1, true);
        begins[edge.low] = begins[edge.high + 1u] = true;
        automaton_.has_settings_ |= edge.contexts != kNothingSet;
      }
    }
    std::uint8_t last = 0;
    for (std::size_t byte = 1; byte < 256; ++byte) automaton_.byte_class_[byte] = last += begins[byte] ? 1 : 0;
  }

  Automaton& automaton_;
  const RuleNfa& nfa_;
  std::vector<StateId> starts_;
  std::vector<bool> queued_;
  std::vector<std::uint32_t> open_;
  std::vector<PendingCall> pending_;
  std::vector<std::vector<State>> bodies_;
  std::unordered_map<std::uint32_t, std::uint32_t> body_of_;  // By rule.
  std::map<std::pair<std::uint32_t, StateId>, std::size_t> counter_of_;
  std::uint64_t next_counted_ = kFirstCounted;
};

Automaton::Automaton(const RuleNfa& nfa) {
  Builder(*this, nfa).build();
}

const Automaton::Counter& Automaton::counter_of(StateId state) const {
  const auto behind = std::upper_bound(counters_.begin(), counters_.end(), state,
                                       [](StateId id, const Counter& counter) { return id < counter.first; });
  return *(behind - 1);
}

Automaton::View Automaton::counted(StateId state) const {
  static const State kOver;
  const Counter& counter = counter_of(state);
  const std::uint32_t times = (state - counter.first) / counter.size;
  const std::uint32_t place = (state - counter.first) % counter.size;
  const StateId exit = place == 0 && times >= counter.least ? counter.exit : kNone;
  if (times == counter.most) return {kOver, 0, exit};
  return {states_[counter.body + place], state - place, exit};
}

StateRun Automaton::run(StateId state) const {
  if (state < kFirstCounted) return runs_[state];
  const Counter& counter = counter_of(state);
  const std::uint32_t times = (state - counter.first) / counter.size;
  const std::uint32_t place = (state - counter.first) % counter.size;
  if (times == counter.most) return {};
  if (place == 0 && counter.groups != 0) return {.groups = counter.groups, .length = counter.most - times};
  return runs_[counter.body + place];
}

Automaton::Count Automaton::count(StateId state) const {
  const Counter& counter = counter_of(state);
  const std::uint32_t times = (state - counter.first) / counter.size;
  return {.place = state - times * counter.size, .times = times, .enough = times >= counter.least};
}

StateId Automaton::representative(StateId state, std::size_t most_bytes) const {
  if (state < kFirstCounted) return state;
  const Counter& counter = counter_of(state);
  const std::uint32_t times = (state - counter.first) / counter.size;
  const std::size_t begun = times + most_bytes / counter.shortest + 1;  // At most, while these bytes are read.
  if (begun < counter.least) return state - times * counter.size;
  if (times >= counter.least && begun < counter.most) return state - (times - counter.least) * counter.size;
  return state;
}

}  // namespace semfuse
