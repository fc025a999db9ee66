#include "grammar/determinise.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "grammar/hash_words.h"

namespace semfuse {
namespace {

using Subset = std::vector<std::uint32_t>;

void append(RuleAutomaton::State& state, const RuleAutomaton::ByteEdge& edge) {
  if (!state.bytes.empty() && edge.continues(state.bytes.back())) {
    state.bytes.back().high = edge.high;
  } else {
    state.bytes.push_back(edge);
  }
}

class RuleDeterminiser {
 public:
  RuleDeterminiser(const RuleNfa& nfa, std::uint32_t rule)
      : nfa_(nfa), rule_(nfa.rules[rule]), seen_(rule_.num_states, 0), first_state_(first_state()) {}

  std::optional<RuleAutomaton> run() {
    const std::size_t most_states = 16 * std::size_t{rule_.num_states} + 1000;
    const std::size_t most_work = 64 * std::size_t{rule_.num_states} + 4'000'000;
    std::size_t work = 0;
    find({rule_.start});
    for (std::uint32_t i = 0; i < subsets_.size(); ++i) {
      work += subsets_[i]->size() + closure_work_;
      closure_work_ = 0;
      if (subsets_.size() > most_states || work > most_work) return std::nullopt;
      expand(i);
    }
    return std::move(result_);
  }

 private:
  // A rule's states are numbered without a gap and its start comes first.
  std::uint32_t first_state() const { return rule_.start; }

  // The state of the set: of what is reached from the targets without reading.
  std::uint32_t find(Subset targets) {
    ++stamp_;
    Subset closure;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::uint32_t state = targets[i];
      if (!nfa_.alive[state] || seen_[state - first_state_] == stamp_) continue;
      seen_[state - first_state_] = stamp_;
      bool reads = state == rule_.accept;
      for (const RuleNfa::Edge& edge : nfa_.edges_of(state)) {
        ++closure_work_;
        if (edge.kind == RuleNfa::EdgeKind::empty) {
          targets.push_back(edge.target);
        } else {
          reads = true;
        }
      }
      if (reads) closure.push_back(state);
    }
    std::sort(closure.begin(), closure.end());
    const auto [found, added] = ids_.emplace(std::move(closure), static_cast<std::uint32_t>(subsets_.size()));
    if (added) {
      subsets_.push_back(&found->first);
      result_.states.emplace_back();
    }
    return found->second;
  }

  void expand(std::uint32_t index) {
    const Subset& subset = *subsets_[index];
    std::map<std::uint32_t, Subset> calls;
    std::vector<RuleNfa::Edge> edges;
    RuleAutomaton::State state;
    for (const std::uint32_t member : subset) {
      state.accepting |= member == rule_.accept;
      for (const RuleNfa::Edge& edge : nfa_.edges_of(member)) {
        if (!nfa_.alive[edge.target]) continue;
        if (edge.kind == RuleNfa::EdgeKind::call && nfa_.can_call(edge)) {
          calls[edge.rule].push_back(edge.target);
        } else if (edge.kind == RuleNfa::EdgeKind::bytes) {
          edges.push_back(edge);
        }
      }
    }
    add_byte_edges(edges, state);
    for (auto& [rule, targets] : calls) state.calls.push_back({rule, find(std::move(targets))});
    result_.states[index] = std::move(state);
  }

  // Between two cuts all bytes have the same targets.
  void add_byte_edges(const std::vector<RuleNfa::Edge>& edges, RuleAutomaton::State& state) {
    if (edges.size() == 1) {
      append(state, {.low = edges[0].low,
                     .high = edges[0].high,
                     .target = find({edges[0].target}),
                     .contexts = edges[0].contexts});
      return;
    }
    std::vector<std::uint32_t> begins;
    for (const RuleNfa::Edge& edge : edges) {
      begins.push_back(edge.low);
      begins.push_back(edge.high + 1u);
    }
    std::sort(begins.begin(), begins.end());
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    if (begins.empty()) return;
    std::vector<Subset> targets(begins.size());
    std::vector<ContextSet> contexts(begins.size());
    for (const RuleNfa::Edge& edge : edges) {
      auto i = static_cast<std::size_t>(std::lower_bound(begins.begin(), begins.end(), edge.low) - begins.begin());
      for (; begins[i] <= edge.high; ++i) {
        targets[i].push_back(edge.target);
        contexts[i] |= edge.contexts;
      }
    }
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
      if (targets[i].empty()) continue;
      append(state, {.low = static_cast<std::uint8_t>(begins[i]),
                     .high = static_cast<std::uint8_t>(begins[i + 1] - 1),
                     .target = find(std::move(targets[i])),
                     .contexts = contexts[i]});
    }
  }

  const RuleNfa& nfa_;
  const RuleNfa::Rule& rule_;
  std::vector<std::uint32_t> seen_;
  std::uint32_t first_state_;
  std::uint32_t stamp_ = 0;
  std::size_t closure_work_ = 0;
  std::unordered_map<Subset, std::uint32_t, HashWords> ids_;
  std::vector<const Subset*> subsets_;
  RuleAutomaton result_;
};

}  // namespace

std::optional<RuleAutomaton> determinise(const RuleNfa& nfa, std::uint32_t rule) {
  return RuleDeterminiser(nfa, rule).run();
}

RuleAutomaton copy_rule(const RuleNfa& nfa, std::uint32_t rule) {
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  const RuleNfa::Rule& from = nfa.rules[rule];
  std::vector<std::uint32_t> new_id(from.num_states, kNone);
  std::vector<std::uint32_t> members;
  const auto id_of = [&](std::uint32_t state) {
    std::uint32_t& id = new_id[state - from.start];
    if (id == kNone) {
      id = static_cast<std::uint32_t>(members.size());
      members.push_back(state);
    }
    return id;
  };
  id_of(from.start);
  RuleAutomaton copy;
  for (std::size_t i = 0; i < members.size(); ++i) {
    RuleAutomaton::State state;
    state.accepting = members[i] == from.accept;
    for (const RuleNfa::Edge& edge : nfa.edges_of(members[i])) {
      if (!nfa.alive[edge.target]) continue;
      switch (edge.kind) {
        case RuleNfa::EdgeKind::empty:
          state.empty.push_back(id_of(edge.target));
          break;
        case RuleNfa::EdgeKind::bytes:
          state.bytes.push_back(
              {.low = edge.low, .high = edge.high, .target = id_of(edge.target), .contexts = edge.contexts});
          break;
        case RuleNfa::EdgeKind::call:
          if (nfa.can_call(edge)) state.calls.push_back({edge.rule, id_of(edge.target)});
          break;
      }
    }
    std::sort(state.bytes.begin(), state.bytes.end(), [](const auto& a, const auto& b) { return a.low < b.low; });
    copy.states.push_back(std::move(state));
  }
  return copy;
}

}  // namespace semfuse
