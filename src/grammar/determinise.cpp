#include "grammar/determinise.h"

#include <algorithm>
#include <map>
#include <span>
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
      : nfa_(nfa),
        rule_(nfa.rules[rule]),
        seen_(rule_.num_states, 0),
        single_(rule_.num_states, kNoState),
        first_state_(rule_.start) {}  // A rule's states are numbered without a gap and its start comes first.

  std::optional<RuleAutomaton> run() {
    const std::size_t most_states = 16 * std::size_t{rule_.num_states} + 1000;
    const std::size_t most_work = 64 * std::size_t{rule_.num_states} + 4'000'000;
    std::size_t work = 0;
    find({&rule_.start, 1});
    for (std::uint32_t i = 0; i < subsets_.size(); ++i) {
      work += subsets_[i].size + closure_work_;
      closure_work_ = 0;
      if (subsets_.size() > most_states || work > most_work) return std::nullopt;
      expand(i);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kNoState = 0xFFFFFFFF;

  // The state of the set: of what is reached from the targets without reading.
  std::uint32_t find(std::span<const std::uint32_t> targets) {
    ++stamp_;
    open_.assign(targets.begin(), targets.end());
    closure_.clear();
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const std::uint32_t state = open_[i];
      if (!nfa_.alive[state] || seen_[state - first_state_] == stamp_) continue;
      seen_[state - first_state_] = stamp_;
      bool reads = state == rule_.accept;
      for (const RuleNfa::Edge& edge : nfa_.edges_of(state)) {
        ++closure_work_;
        if (edge.kind == RuleNfa::EdgeKind::empty) {
          open_.push_back(edge.target);
        } else {
          reads = true;
        }
      }
      if (reads) closure_.push_back(state);
    }
    const auto next = static_cast<std::uint32_t>(subsets_.size());
    if (closure_.size() == 1) {  // Most are.
      std::uint32_t& known = single_[closure_[0] - first_state_];
      if (known == kNoState) {
        known = next;
        add_subset();
      }
      return known;
    }
    std::sort(closure_.begin(), closure_.end());
    const auto [found, added] = ids_.emplace(closure_, next);
    if (added) add_subset();
    return found->second;
  }

  void add_subset() {
    subsets_.push_back({static_cast<std::uint32_t>(members_.size()), static_cast<std::uint32_t>(closure_.size())});
    members_.insert(members_.end(), closure_.begin(), closure_.end());
    result_.states.emplace_back();
  }

  void expand(std::uint32_t index) {
    std::map<std::uint32_t, Subset> calls;
    edges_.clear();
    RuleAutomaton::State state;
    for (std::uint32_t m = 0; m < subsets_[index].size; ++m) {
      const std::uint32_t member = members_[subsets_[index].begin + m];
      state.accepting |= member == rule_.accept;
      for (const RuleNfa::Edge& edge : nfa_.edges_of(member)) {
        if (!nfa_.alive[edge.target]) continue;
        if (edge.kind == RuleNfa::EdgeKind::call && nfa_.can_call(edge)) {
          calls[edge.rule].push_back(edge.target);
        } else if (edge.kind == RuleNfa::EdgeKind::bytes) {
          edges_.push_back(edge);
        }
      }
    }
    add_byte_edges(state);
    for (const auto& [rule, targets] : calls) state.calls.push_back({rule, find(targets)});
    result_.states[index] = std::move(state);
  }

  // Between two cuts all bytes have the same targets.
  void add_byte_edges(RuleAutomaton::State& state) {
    if (edges_.size() == 1) {
      const RuleNfa::Edge& edge = edges_[0];
      append(state, {.low = edge.low, .high = edge.high, .target = find({&edge.target, 1}), .contexts = edge.contexts});
      return;
    }
    begins_.clear();
    for (const RuleNfa::Edge& edge : edges_) {
      begins_.push_back(edge.low);
      begins_.push_back(edge.high + 1u);
    }
    std::sort(begins_.begin(), begins_.end());
    begins_.erase(std::unique(begins_.begin(), begins_.end()), begins_.end());
    if (targets_.size() < begins_.size()) targets_.resize(begins_.size());
    contexts_.assign(begins_.size(), 0);
    for (const RuleNfa::Edge& edge : edges_) {
      auto i = static_cast<std::size_t>(std::lower_bound(begins_.begin(), begins_.end(), edge.low) - begins_.begin());
      for (; begins_[i] <= edge.high; ++i) {
        targets_[i].push_back(edge.target);
        contexts_[i] |= edge.contexts;
      }
    }
    for (std::size_t i = 0; i + 1 < begins_.size(); ++i) {
      if (targets_[i].empty()) continue;
      append(state, {.low = static_cast<std::uint8_t>(begins_[i]),
                     .high = static_cast<std::uint8_t>(begins_[i + 1] - 1),
                     .target = find(targets_[i]),
                     .contexts = contexts_[i]});
      targets_[i].clear();
    }
  }

  const RuleNfa& nfa_;
  const RuleNfa::Rule& rule_;
  std::vector<std::uint32_t> seen_;
  std::vector<std::uint32_t> single_;  // The set of one state alone, if there is one.
  std::uint32_t first_state_;
  std::uint32_t stamp_ = 0;
  std::size_t closure_work_ = 0;
  std::unordered_map<Subset, std::uint32_t, HashWords> ids_;  // Of sets of several.
  struct Range {
    std::uint32_t begin;  // In members_.
    std::uint32_t size;
  };
  std::vector<Range> subsets_;
  std::vector<std::uint32_t> members_;
  Subset open_;  // These for their memory.
  Subset closure_;
  std::vector<Subset> targets_;
  std::vector<ContextSet> contexts_;
  std::vector<RuleNfa::Edge> edges_;
  std::vector<std::uint32_t> begins_;
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
