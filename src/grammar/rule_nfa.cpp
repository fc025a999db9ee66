#include "grammar/rule_nfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "grammar/grammar_text.h"
#include "grammar/rule_plan.h"
#include "grammar/utf8.h"

namespace semfuse {
namespace {

using NfaEdge = RuleNfa::Edge;
using EdgeKind = RuleNfa::EdgeKind;
using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

constexpr std::uint64_t kExpression = std::uint64_t{1} << 32;

class NfaBuilder {
 public:
  NfaBuilder(const GrammarTree& tree, const RulePlan& plan, std::size_t most_states)
      : tree_(tree), plan_(plan), most_states_(most_states) {}

  std::optional<RuleNfa> build() {
    for (const std::uint32_t rule : plan_.kept) {
      add_rule([&](std::uint32_t start, std::uint32_t accept) { connect(tree_.rules[rule].body, start, accept); });
      if (is_too_large()) return std::nullopt;
    }
    for (std::size_t i = 0; i < bodies_.size(); ++i) {  // Their number grows.
      const Body body = bodies_[i];
      add_rule([&](std::uint32_t start, std::uint32_t accept) {
        if (body.callee) {
          add_edge(start, {.kind = EdgeKind::call, .rule = *body.callee, .target = accept});
        } else {
          connect(body.expression, start, accept);
        }
      });
      if (is_too_large()) return std::nullopt;
    }
    sort_edges();
    mark_alive();
    return std::move(nfa_);
  }

 private:
  // A rule written out between two states.
  struct Instance {
    std::uint32_t rule;
    std::uint32_t from;
    std::uint32_t to;
  };

  // What a rule of its own is made of, though it is none of the grammar: an expression, or a call of another such one.
  struct Body {
    std::uint32_t expression;
    std::optional<std::uint32_t> callee;
  };

  template <typename Connect>
  void add_rule(Connect connect_body) {
    const std::uint32_t first = num_states_;
    const std::uint32_t start = add_state();
    const std::uint32_t accept = add_state();
    connect_body(start, accept);
    while (!open_.empty() && !is_too_large()) {
      const Instance instance = open_.back();
      open_.pop_back();
      connect(tree_.rules[instance.rule].body, instance.from, instance.to);
    }
    instances_.clear();
    nfa_.rules.push_back({.start = start, .accept = accept, .num_states = num_states_ - first});
  }

  // The rule of a body; one for all repetitions of the same rule. Where counts are nested, the outer body is a call, as
  // only one of them can be in the number of a state.
  std::uint32_t body_rule(std::uint32_t expression) {
    const Expression& body = tree_.expressions[expression];
    const bool refers = body.kind == Kind::reference;
    const auto [found, added] = body_rules_.emplace(refers ? body.rule : kExpression + expression, 0);
    if (!added) return found->second;
    bodies_.push_back({expression, std::nullopt});
    const auto rule_of_last = [&] { return static_cast<std::uint32_t>(plan_.kept.size() + bodies_.size() - 1); };
    if (plan_.holds_counted[expression]) bodies_.push_back({expression, rule_of_last()});
    return found->second = rule_of_last();
  }

  void connect_counted(const Expression& repeat, std::uint32_t from, std::uint32_t to) {
    const RuleNfa::Counter counter = {.rule = body_rule(repeat.children[0]),
                                      .least = repeat.least,
                                      .most = repeat.most == GrammarTree::kUnbounded ? repeat.least : repeat.most};
    const std::uint64_t counts = std::uint64_t{counter.least} << 32 | counter.most;
    const auto [found, added] = counters_.emplace(std::pair(counter.rule, counts), nfa_.counters.size());
    if (added) nfa_.counters.push_back(counter);
    const auto symbol = RuleNfa::kCounted + static_cast<std::uint32_t>(found->second);
    if (repeat.most == GrammarTree::kUnbounded) {
      const std::uint32_t loop = add_state();
      add_edge(from, {.kind = EdgeKind::call, .rule = symbol, .target = loop});
      connect(repeat.children[0], loop, loop);
      add_empty(loop, to);
      return;
    }
    add_edge(from, {.kind = EdgeKind::call, .rule = symbol, .target = to});
    if (repeat.least == 0) add_empty(from, to);  // Also where the body describes nothing.
  }

  bool is_too_large() const { return num_states_ > most_states_ || edges_.size() > 4 * most_states_; }
  std::uint32_t add_state() { return num_states_++; }
  void add_edge(std::uint32_t from, NfaEdge edge) { edges_.emplace_back(from, edge); }
  void add_empty(std::uint32_t from, std::uint32_t to) { add_edge(from, {.kind = EdgeKind::empty, .target = to}); }

  // Adds paths that spell the expression. Adds no other edge into `from` or out of `to`; they may be the same state,
  // which makes a loop. The tree's height is limited, and so is the recursion. Stops early if there are too many
  // states.
  void connect(std::uint32_t index, std::uint32_t from, std::uint32_t to) {
    if (is_too_large()) return;
    const Expression& expression = tree_.expressions[index];
    switch (expression.kind) {
      case Kind::literal:
        connect_literal(expression.bytes, context_set(expression.context), from, to);
        break;
      case Kind::characters:
        connect_characters(expression, from, to);
        break;
      case Kind::reference:
        if (plan_.inlined[expression.rule]) {
          connect_instance(expression.rule, from, to);
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
        connect_choice(expression, from, to);
        break;
      case Kind::repeat:
        plan_.counted[index] ? connect_counted(expression, from, to) : connect_repeat(expression, from, to);
        break;
    }
  }

  // Rules that are written out before the same state are written out once: what ends alike shares its states, and a
  // rule that calls itself at its end becomes a loop.
  void connect_instance(std::uint32_t rule, std::uint32_t from, std::uint32_t to) {
    const auto [found, added] = instances_.emplace(std::uint64_t{rule} << 32 | to, num_states_);
    if (added) {
      add_state();
      open_.push_back({rule, found->second, to});
    }
    add_empty(from, found->second);
  }

  // Words that begin alike share those states.
  void connect_choice(const Expression& choice, std::uint32_t from, std::uint32_t to) {
    std::unordered_map<std::uint64_t, std::uint32_t> next_of;  // By state, context and byte.
    for (const std::uint32_t child : choice.children) {
      const Expression& literal = tree_.expressions[child];
      if (literal.kind != Kind::literal || literal.bytes.size() < 2) {
        connect(child, from, to);
        continue;
      }
      std::uint32_t at = from;
      for (std::size_t i = 0; i + 1 < literal.bytes.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(literal.bytes[i]);
        const std::uint64_t key = std::uint64_t{at} << 16 | literal.context << 8 | byte;
        const auto [found, added] = next_of.emplace(key, num_states_);
        if (added) {
          add_state();
          add_bytes(at, {byte, byte}, context_set(literal.context), found->second);
        }
        at = found->second;
      }
      const auto last = static_cast<std::uint8_t>(literal.bytes.back());
      add_bytes(at, {last, last}, context_set(literal.context), to);
      if (is_too_large()) return;
    }
  }

  void add_bytes(std::uint32_t from, ByteRange range, ContextSet contexts, std::uint32_t to) {
    add_edge(from, {.kind = EdgeKind::bytes, .low = range.low, .high = range.high, .contexts = contexts, .target = to});
  }

  void connect_literal(const std::string& bytes, ContextSet contexts, std::uint32_t from, std::uint32_t to) {
    if (bytes.empty()) add_empty(from, to);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint32_t next = i + 1 == bytes.size() ? to : add_state();
      const auto byte = static_cast<std::uint8_t>(bytes[i]);
      add_bytes(from, {byte, byte}, contexts, next);
      from = next;
    }
  }

  // Characters whose first bytes are the same share those states: the ranges ascend, so they are neighbours.
  void connect_characters(const Expression& characters, std::uint32_t from, std::uint32_t to) {
    const ContextSet contexts = context_set(characters.context);
    ByteRangeSequence last;
    std::array<std::uint32_t, 4> path = {from};  // The state before each byte of the last one.
    for (const CodePointRange& range : characters.ranges) {
      for (const ByteRangeSequence& sequence : utf8_sequences(range)) {
        std::size_t shared = 0;
        while (shared + 1 < sequence.length && shared + 1 < last.length &&
               sequence.ranges[shared].low == last.ranges[shared].low &&
               sequence.ranges[shared].high == last.ranges[shared].high) {
          ++shared;
        }
        for (std::size_t i = shared; i < sequence.length; ++i) {
          const std::uint32_t next = i + 1 == sequence.length ? to : add_state();
          add_bytes(path[i], sequence.ranges[i], contexts, next);
          if (i + 1 < sequence.length) path[i + 1] = next;
        }
        last = sequence;
      }
      if (is_too_large()) return;
    }
  }

  void connect_repeat(const Expression& repeat, std::uint32_t from, std::uint32_t to) {
    const std::uint32_t child = repeat.children[0];
    for (std::uint32_t i = 0; i < repeat.least && !is_too_large(); ++i) {
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
      for (std::uint32_t i = repeat.least; i < repeat.most && !is_too_large(); ++i) {
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
      if (edges_[e].second.kind == EdgeKind::call) calls[nfa_.rule_of(edges_[e].second)].push_back(e);
    }
    nfa_.alive.assign(num_states_, false);
    std::vector<std::uint32_t> open;
    const auto mark = [&](std::uint32_t state) {
      if (!nfa_.alive[state]) open.push_back(state);
      nfa_.alive[state] = true;
    };
    const auto follow = [&](std::uint32_t e) {
      const NfaEdge& edge = edges_[e].second;
      const bool callable = edge.kind != EdgeKind::call || nfa_.can_call(edge);
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
  std::size_t most_states_;
  RuleNfa nfa_;
  std::vector<Instance> open_;
  std::unordered_map<std::uint64_t, std::uint32_t> instances_;  // The first state, by rule and state behind it.
  std::vector<Body> bodies_;
  std::unordered_map<std::uint64_t, std::uint32_t> body_rules_;  // By the rule or expression that is repeated.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> counters_;
  std::uint32_t num_states_ = 0;
  std::vector<std::pair<std::uint32_t, NfaEdge>> edges_;
};

}  // namespace

std::optional<RuleNfa> build_rule_nfa(const GrammarTree& tree, const RulePlan& plan, std::size_t most_states) {
  return NfaBuilder(tree, plan, most_states).build();
}

RuleNfa build_rule_nfa(const GrammarTree& tree, const GrammarText& source) {
  constexpr std::size_t kInlineBudget = 50'000;  // States of all rules, some written out.
  constexpr std::size_t kMostStates = 1'200'000;
  constexpr std::uint64_t kMostRepeated = 200'000;  // States of a repetition that is written out.
  constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();
  const bool copies = !tree.settings.empty();
  const char* for_settings = copies ? "its rules copied for each setting " : "";
  const std::vector<std::uint64_t> sizes = expression_sizes(tree);
  for (std::size_t e = 0; e < sizes.size(); ++e) {
    const Expression& expression = tree.expressions[e];
    if (expression.kind != Kind::repeat || sizes[e] <= kMostRepeated) continue;
    if (expression.least <= 1 && (expression.most <= 1 || expression.most == GrammarTree::kUnbounded)) continue;
    source.fail(
        expression.offset,
        fmt::format("with its repetitions written out {}{}the grammar has more than {} states; lower the counts",
                    copies ? "and " : "", for_settings, kMostRepeated));
  }
  for (const std::uint64_t largest : std::array<std::uint64_t, 4>{kAnySize, 2000, 200, 20}) {
    if (std::optional<RuleNfa> nfa = build_rule_nfa(tree, plan_rules(tree, largest), kInlineBudget)) return *nfa;
  }
  if (std::optional<RuleNfa> nfa = build_rule_nfa(tree, plan_rules(tree, 0), kMostStates)) return *nfa;
  source.fail(tree.rules[tree.root].offset,
              fmt::format("{}{}the grammar has more than {} states; {}shorten the grammar", copies ? "with " : "",
                          for_settings, kMostStates, copies ? "set fewer rules, or " : ""));
}

}  // namespace semfuse
