#include "grammar/rule_nfa.h"

#include <utility>

#include "grammar/utf8.h"

namespace semfuse {
namespace {

using Edge = RuleNfa::Edge;
using EdgeKind = RuleNfa::EdgeKind;
using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

class Builder {
 public:
  Builder(const GrammarTree& tree, const RulePlan& plan) : tree_(tree), plan_(plan) {}

  RuleNfa build() {
    for (const std::uint32_t rule : plan_.kept) {
      const std::uint32_t first = num_states_;
      const std::uint32_t start = add_state();
      const std::uint32_t accept = add_state();
      connect(tree_.rules[rule].body, start, accept);
      nfa_.rules.push_back({.start = start, .accept = accept, .num_states = num_states_ - first});
    }
    sort_edges();
    mark_alive();
    return std::move(nfa_);
  }

 private:
  std::uint32_t add_state() { return num_states_++; }
  void add_edge(std::uint32_t from, Edge edge) { edges_.emplace_back(from, edge); }
  void add_empty(std::uint32_t from, std::uint32_t to) { add_edge(from, {.kind = EdgeKind::empty, .target = to}); }

  // Adds paths that spell the expression. Adds no other edge into `from` or out of `to`; they may be the same state,
  // which makes a loop. The tree's height is limited, and so is the recursion.
  void connect(std::uint32_t index, std::uint32_t from, std::uint32_t to) {
    const Expression& expression = tree_.expressions[index];
    switch (expression.kind) {
      case Kind::literal:
        connect_literal(expression.bytes, context_set(expression.context), from, to);
        break;
      case Kind::characters:
        for (const CodePointRange& range : expression.ranges) {
          for (const ByteRangeSequence& sequence : utf8_sequences(range))
            connect_bytes(sequence, context_set(expression.context), from, to);
        }
        break;
      case Kind::reference:
        if (plan_.inlined[expression.rule]) {
          connect(tree_.rules[expression.rule].body, from, to);
        } else {
          add_edge(from, {.kind = EdgeKind::call, .rule = plan_.kept_index_of[expression.rule], .target = to});
        }
        break;
      case Kind::sequence: {
        if (expression.children.empty()) add_empty(from, to);
        for (std::size_t i = 0; i < expression.children.size(); ++i) {
          const std::uint32_t next = i + 1 == expression.children.size() ? to : add_state();
          connect(expression.children[i], from, next);
          from = next;
        }
        break;
      }
      case Kind::choice:
        for (const std::uint32_t child : expression.children) connect(child, from, to);
        break;
      case Kind::repeat:
        connect_repeat(expression, from, to);
        break;
    }
  }

  void connect_literal(const std::string& bytes, ContextSet contexts, std::uint32_t from, std::uint32_t to) {
    if (bytes.empty()) add_empty(from, to);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint32_t next = i + 1 == bytes.size() ? to : add_state();
      const auto byte = static_cast<std::uint8_t>(bytes[i]);
      add_edge(from, {.kind = EdgeKind::bytes, .low = byte, .high = byte, .contexts = contexts, .target = next});
      from = next;
    }
  }

  void connect_bytes(const ByteRangeSequence& sequence, ContextSet contexts, std::uint32_t from, std::uint32_t to) {
    for (std::size_t i = 0; i < sequence.length; ++i) {
      const std::uint32_t next = i + 1 == sequence.length ? to : add_state();
      const ByteRange range = sequence.ranges[i];
      add_edge(from,
               {.kind = EdgeKind::bytes, .low = range.low, .high = range.high, .contexts = contexts, .target = next});
      from = next;
    }
  }

  void connect_repeat(const Expression& repeat, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t child = repeat.children[0];
    for (std::uint32_t i = 0; i < repeat.least; ++i) {
      const std::uint32_t next = add_state();
      connect(child, from, next);
      from = next;
    }
    if (repeat.most == GrammarTree::kUnbounded) {
      const std::uint32_t loop = add_state();
      add_empty(from, loop);
      connect(child, loop, loop);
      from = loop;
    } else {
      for (std::uint32_t i = repeat.least; i < repeat.most; ++i) {
        add_empty(from, to);
        const std::uint32_t next = add_state();
        connect(child, from, next);
        from = next;
      }
    }
    add_empty(from, to);
  }

  void sort_edges() {
    nfa_.first_edge.assign(num_states_ + 1, 0);
    for (const auto& [from, edge] : edges_) ++nfa_.first_edge[from + 1];
    for (std::uint32_t s = 0; s < num_states_; ++s) nfa_.first_edge[s + 1] += nfa_.first_edge[s];
    std::vector<std::uint32_t> next(nfa_.first_edge.begin(), nfa_.first_edge.end() - 1);
    nfa_.edges.resize(edges_.size());
    for (const auto& [from, edge] : edges_) nfa_.edges[next[from]++] = edge;
  }

  // Backwards from the ends of the rules. An edge that calls waits for both its target and the rule's start.
  void mark_alive() {
    std::vector<std::vector<std::uint32_t>> into(num_states_);         // Indices of edges_.
    std::vector<std::vector<std::uint32_t>> calls(nfa_.rules.size());  // The same, of each rule.
    std::vector<std::vector<std::uint32_t>> starts(num_states_);       // Rules that start there.
    for (std::uint32_t e = 0; e < edges_.size(); ++e) {
      into[edges_[e].second.target].push_back(e);
      if (edges_[e].second.kind == EdgeKind::call) calls[edges_[e].second.rule].push_back(e);
    }
    nfa_.alive.assign(num_states_, false);
    std::vector<std::uint32_t> open;
    const auto mark = [&](std::uint32_t state) {
      if (!nfa_.alive[state]) open.push_back(state);
      nfa_.alive[state] = true;
    };
    const auto follow = [&](std::uint32_t e) {
      const Edge& edge = edges_[e].second;
      const bool callable = edge.kind != EdgeKind::call || nfa_.alive[nfa_.rules[edge.rule].start];
      if (callable && nfa_.alive[edge.target]) mark(edges_[e].first);
    };
    for (std::uint32_t r = 0; r < nfa_.rules.size(); ++r) {
      starts[nfa_.rules[r].start].push_back(r);
      mark(nfa_.rules[r].accept);
    }
    while (!open.empty()) {
      const std::uint32_t state = open.back();
      open.pop_back();
      for (const std::uint32_t e : into[state]) follow(e);
      for (const std::uint32_t rule : starts[state]) {
        for (const std::uint32_t e : calls[rule]) follow(e);
      }
    }
  }

  const GrammarTree& tree_;
  const RulePlan& plan_;
  RuleNfa nfa_;
  std::uint32_t num_states_ = 0;
  std::vector<std::pair<std::uint32_t, Edge>> edges_;
};

}  // namespace

RuleNfa build_rule_nfa(const GrammarTree& tree, const RulePlan& plan) {
  return Builder(tree, plan).build();
}

}  // namespace semfuse
