#include "grammar/character_automaton.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "grammar/hash_words.h"
#include "grammar/utf8.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using Edge = CharacterAutomaton::Edge;
using State = CharacterAutomaton::State;

constexpr std::size_t kMostStates = 20'000;
constexpr std::size_t kMostNfaStates = 200'000;
constexpr std::size_t kMostWork = 20'000'000;
constexpr std::uint32_t kNone = 0xFFFFFFFF;

[[noreturn]] void fail_size() {
  throw Error(
      fmt::format("as an automaton this has more than {} states; make it simpler or its counts smaller", kMostStates));
}

void append(State& state, const Edge& edge) {
  if (!state.edges.empty() && state.edges.back().target == edge.target && state.edges.back().high + 1 == edge.low) {
    state.edges.back().high = edge.high;
  } else {
    state.edges.push_back(edge);
  }
}

// The regular expression with empty edges and anchors, and the sets of its states.
class Determiniser {
 public:
  Determiniser(const Regex& regex, bool search) : regex_(regex) {
    const std::uint32_t start = add_state();
    accept_ = add_state();
    if (search) {
      const std::uint32_t inside = add_state();
      const std::uint32_t end = add_state();
      const CodePointRange any = {0, kLastCodePoint};
      nodes_[start].reads.push_back({any, start});
      nodes_[start].empty.push_back(inside);
      connect(regex.root(), inside, end);
      nodes_[end].empty.push_back(accept_);
      nodes_[accept_].reads.push_back({any, accept_});
    } else {
      connect(regex.root(), start, accept_);
    }
  }

  std::vector<State> run() {
    find({0}, true);
    for (std::uint32_t i = 0; i < subsets_.size(); ++i) expand(i);
    return std::move(states_);
  }

 private:
  struct Read {
    CodePointRange range;
    std::uint32_t target;
  };
  struct Node {
    std::vector<Read> reads;
    std::vector<std::uint32_t> empty;
    std::vector<std::uint32_t> at_begin;
    std::vector<std::uint32_t> at_end;
  };

  std::uint32_t add_state() {
    if (nodes_.size() >= kMostNfaStates) fail_size();
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }

  // Adds nothing into `from` or out of `to`.
  void connect(std::uint32_t index, std::uint32_t from, std::uint32_t to) {
    const Regex::Node& node = regex_[index];
    switch (node.kind) {
      case Regex::Kind::characters:
        for (const CodePointRange& range : node.ranges) nodes_[from].reads.push_back({range, to});
        break;
      case Regex::Kind::begin:
        nodes_[from].at_begin.push_back(to);
        break;
      case Regex::Kind::end:
        nodes_[from].at_end.push_back(to);
        break;
      case Regex::Kind::choice:
        for (const std::uint32_t child : node.children) {
          const std::uint32_t inside = add_state();
          nodes_[from].empty.push_back(inside);
          connect(child, inside, to);
        }
        break;
      case Regex::Kind::sequence:
        for (const std::uint32_t child : node.children) {
          const std::uint32_t next = add_state();
          connect(child, from, next);
          from = next;
        }
        nodes_[from].empty.push_back(to);
        break;
      case Regex::Kind::repeat: {
        const bool endless = node.most == GrammarTree::kUnbounded;
        const std::uint32_t copies = endless ? node.least : node.most;
        for (std::uint32_t i = 0; i < copies; ++i) {
          if (i >= node.least) nodes_[from].empty.push_back(to);
          const std::uint32_t next = add_state();
          connect(node.children[0], from, next);
          from = next;
        }
        if (endless) {
          const std::uint32_t loop = add_state();
          const std::uint32_t next = add_state();
          nodes_[from].empty.push_back(loop);
          connect(node.children[0], loop, next);
          nodes_[next].empty.push_back(loop);
          from = loop;
        }
        nodes_[from].empty.push_back(to);
        break;
      }
    }
  }

  // What is reached without reading.
  std::vector<std::uint32_t> closure(const std::vector<std::uint32_t>& open, bool begin, bool end) {
    seen_.resize(nodes_.size());
    ++stamp_;
    std::vector<std::uint32_t> found;
    const auto add = [&](std::uint32_t state) {
      if (seen_[state] == stamp_) return;
      seen_[state] = stamp_;
      found.push_back(state);
    };
    for (const std::uint32_t state : open) add(state);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Node& node = nodes_[found[i]];
      for (const std::uint32_t to : node.empty) add(to);
      if (begin) {
        for (const std::uint32_t to : node.at_begin) add(to);
      }
      if (end) {
        for (const std::uint32_t to : node.at_end) add(to);
      }
    }
    work_ += found.size();
    if (work_ > kMostWork) fail_size();
    std::sort(found.begin(), found.end());
    return found;
  }

  std::uint32_t find(const std::vector<std::uint32_t>& targets, bool begin) {
    const std::vector<std::uint32_t> at_end = closure(targets, begin, true);
    std::vector<std::uint32_t> subset = closure(targets, begin, false);
    if (begin) subset.push_back(kNone);  // The same states may accept more at the beginning.
    const auto [found, added] = ids_.emplace(std::move(subset), static_cast<std::uint32_t>(subsets_.size()));
    if (added) {
      if (subsets_.size() >= kMostStates) fail_size();
      subsets_.push_back(&found->first);
      states_.push_back({.accepting = std::binary_search(at_end.begin(), at_end.end(), accept_)});
    }
    return found->second;
  }

  void expand(std::uint32_t index) {
    std::vector<Read> reads;
    std::vector<char32_t> cuts;
    for (const std::uint32_t state : *subsets_[index]) {
      if (state == kNone) continue;
      for (const Read& read : nodes_[state].reads) {
        reads.push_back(read);
        cuts.push_back(read.range.low);
        cuts.push_back(read.range.high + 1);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    work_ += reads.size() * (1 + cuts.size() / 8);
    std::vector<std::vector<std::uint32_t>> targets(cuts.size());
    for (const Read& read : reads) {
      auto i = static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), read.range.low) - cuts.begin());
      for (; cuts[i] <= read.range.high; ++i) targets[i].push_back(read.target);
    }
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (targets[i].empty()) continue;
      const std::uint32_t to = find(targets[i], false);
      append(states_[index], {cuts[i], cuts[i + 1] - 1, to});
    }
  }

  const Regex& regex_;
  std::vector<Node> nodes_;
  std::uint32_t accept_ = 0;
  std::vector<std::uint32_t> seen_;
  std::uint32_t stamp_ = 0;
  std::size_t work_ = 0;
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, HashWords> ids_;
  std::vector<const std::vector<std::uint32_t>*> subsets_;
  std::vector<State> states_;
};

}  // namespace

CharacterAutomaton::CharacterAutomaton(std::vector<State> states) {
  std::vector<std::vector<std::uint32_t>> into(states.size());
  std::vector<std::uint32_t> open;
  std::vector<bool> alive(states.size());
  for (std::uint32_t s = 0; s < states.size(); ++s) {
    for (const Edge& edge : states[s].edges) into[edge.target].push_back(s);
    alive[s] = states[s].accepting;
    if (alive[s]) open.push_back(s);
  }
  while (!open.empty()) {
    const std::uint32_t state = open.back();
    open.pop_back();
    for (const std::uint32_t source : into[state]) {
      if (!alive[source]) open.push_back(source);
      alive[source] = true;
    }
  }
  std::vector<std::uint32_t> ids(states.size(), kNone);
  std::uint32_t next = 1;
  ids[0] = 0;
  for (std::uint32_t s = 1; s < states.size(); ++s) {
    if (alive[s]) ids[s] = next++;
  }
  states_.resize(next);
  for (std::uint32_t s = 0; s < states.size(); ++s) {
    if (ids[s] == kNone) continue;
    State& state = states_[ids[s]];
    state.accepting = states[s].accepting;
    for (const Edge& edge : states[s].edges) {
      if (alive[edge.target]) append(state, {edge.low, edge.high, ids[edge.target]});
    }
  }
}

CharacterAutomaton CharacterAutomaton::of(const Regex& regex, bool search) {
  return CharacterAutomaton(Determiniser(regex, search).run());
}

std::vector<CodePointRange> CharacterAutomaton::any_character() {
  return {{0, kFirstSurrogate - 1}, {kLastSurrogate + 1, kLastCodePoint}};
}

CharacterAutomaton CharacterAutomaton::of_lengths(std::uint32_t least, std::uint32_t most) {
  const bool endless = most == GrammarTree::kUnbounded;
  const std::uint32_t last = endless ? least : most;
  if (last >= kMostStates) fail_size();
  std::vector<State> states(last + 1);
  for (std::uint32_t i = 0; i <= last; ++i) {
    states[i].accepting = i >= least;
    if (i < last || endless) states[i].edges = {{0, kLastCodePoint, std::min(i + 1, last)}};
  }
  return CharacterAutomaton(std::move(states));
}

CharacterAutomaton CharacterAutomaton::of_strings(const std::vector<std::string>& strings) {
  std::vector<State> states(1);
  std::map<std::pair<std::uint32_t, char32_t>, std::uint32_t> children;
  for (std::string_view rest : strings) {
    std::uint32_t at = 0;
    while (!rest.empty()) {
      const char32_t character = first_code_point(rest);
      rest.remove_prefix(utf8_character_length(rest));
      const auto [child, added] = children.emplace(std::pair(at, character), static_cast<std::uint32_t>(states.size()));
      if (added) {
        if (states.size() >= kMostStates) fail_size();
        states.emplace_back();
      }
      at = child->second;
    }
    states[at].accepting = true;
  }
  for (const auto& [from, to] : children) states[from.first].edges.push_back({from.second, from.second, to});
  return CharacterAutomaton(std::move(states));
}

CharacterAutomaton CharacterAutomaton::combined(const CharacterAutomaton& other, bool both) const {
  std::vector<State> states;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::unordered_map<std::uint64_t, std::uint32_t> ids;
  const auto find = [&](std::uint32_t a, std::uint32_t b) {
    const auto [found, added] = ids.emplace(std::uint64_t{a} << 32 | b, static_cast<std::uint32_t>(pairs.size()));
    if (added) {
      if (pairs.size() >= kMostStates) fail_size();
      const bool other_accepts = b != kNone && other.states_[b].accepting;
      pairs.emplace_back(a, b);
      states.push_back({.accepting = states_[a].accepting && other_accepts == both});
    }
    return found->second;
  };
  find(0, 0);
  for (std::uint32_t i = 0; i < pairs.size(); ++i) {
    const auto [a, b] = pairs[i];
    static const std::vector<Edge> kNoEdges;
    const std::vector<Edge>& theirs = b == kNone ? kNoEdges : other.states_[b].edges;
    for (const Edge& edge : states_[a].edges) {
      char32_t low = edge.low;
      for (const Edge& their : theirs) {
        if (their.high < low || their.low > edge.high) continue;
        if (their.low > low && !both) {
          const std::uint32_t to = find(edge.target, kNone);
          append(states[i], {low, their.low - 1, to});
        }
        const char32_t high = std::min(edge.high, their.high);
        const std::uint32_t to = find(edge.target, their.target);
        append(states[i], {std::max(low, their.low), high, to});
        low = high + 1;
      }
      if (low <= edge.high && !both) {
        const std::uint32_t to = find(edge.target, kNone);
        append(states[i], {low, edge.high, to});
      }
    }
  }
  return CharacterAutomaton(std::move(states));
}

bool CharacterAutomaton::matches(std::string_view text) const {
  std::uint32_t at = 0;
  while (!text.empty()) {
    const char32_t character = first_code_point(text);
    text.remove_prefix(utf8_character_length(text));
    const std::vector<Edge>& edges = states_[at].edges;
    const auto edge = std::find_if(edges.begin(), edges.end(), [character](const Edge& candidate) {
      return candidate.low <= character && character <= candidate.high;
    });
    if (edge == edges.end()) return false;
    at = edge->target;
  }
  return states_[at].accepting;
}

}  // namespace semfuse
