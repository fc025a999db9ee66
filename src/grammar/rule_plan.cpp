#include "grammar/rule_plan.h"

#include <algorithm>

#include "grammar/strong_components.h"
#include "grammar/utf8.h"

namespace semfuse {
namespace {

using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;

// A repetition with so many states, written out, is counted instead. A few copies make a better automaton; so many
// that there are no numbers for them are refused.
constexpr std::uint64_t kLeastCountedSize = 40;
constexpr std::uint64_t kMostCountedSize = std::uint64_t{1} << 25;
constexpr std::uint64_t kSizeOfCounted = 3;

std::uint64_t num_copies(const Expression& repeat) {
  return repeat.most == GrammarTree::kUnbounded ? std::uint64_t{repeat.least} + 1 : repeat.most;
}

class Planner {
 public:
  explicit Planner(const GrammarTree& tree)
      : tree_(tree), character_sizes_(tree.expressions.size()), uses_(tree.rules.size()) {
    for (std::size_t e = 0; e < tree.expressions.size(); ++e) {
      for (const CodePointRange& range : tree.expressions[e].ranges) {
        for (const ByteRangeSequence& sequence : utf8_sequences(range)) character_sizes_[e] += sequence.length;
      }
    }
    for (std::size_t r = 0; r < tree.rules.size(); ++r) {
      for (std::uint32_t e = tree.rules[r].first_expression; e <= tree.rules[r].body; ++e) {
        if (tree.expressions[e].kind == Kind::reference) uses_[r].push_back(tree.expressions[e].rule);
      }
      std::sort(uses_[r].begin(), uses_[r].end());
      uses_[r].erase(std::unique(uses_[r].begin(), uses_[r].end()), uses_[r].end());
    }
    components_ = strong_components(uses_);
    component_of_.resize(tree.rules.size());
    for (std::uint32_t c = 0; c < components_.size(); ++c) {
      for (const std::uint32_t rule : components_[c]) component_of_[rule] = c;
    }
    reachable_.resize(tree.rules.size());
    std::vector<std::uint32_t> open = {tree.root};
    reachable_[tree.root] = true;
    while (!open.empty()) {
      const std::uint32_t rule = open.back();
      open.pop_back();
      for (const std::uint32_t used : uses_[rule]) {
        if (!reachable_[used]) open.push_back(used);
        reachable_[used] = true;
      }
    }
  }

  RulePlan plan(std::uint64_t largest, std::vector<std::uint64_t>& sizes) const {
    const std::size_t num_rules = tree_.rules.size();
    RulePlan plan;
    plan.inlined.assign(num_rules, false);
    plan.counted.assign(tree_.expressions.size(), false);
    plan.holds_counted.assign(tree_.expressions.size(), false);
    std::vector<bool> may_be_empty(tree_.expressions.size(), true);
    sizes.assign(tree_.expressions.size(), 0);
    std::vector<std::uint64_t> sizes_of_rules(num_rules, 1);
    for (const std::vector<std::uint32_t>& component : components_) {  // Rules come after those that they use.
      std::uint64_t total = 0;
      for (const std::uint32_t rule : component) {
        const std::uint32_t body = tree_.rules[rule].body;
        for (std::uint32_t e = tree_.rules[rule].first_expression; e <= body; ++e) {
          look_into(e, plan, sizes, may_be_empty);
          sizes[e] = size_of(e, plan, sizes, sizes_of_rules);
        }
        total = std::min(kHuge, total + sizes[body]);
      }
      share_counted(component, plan);
      // All rules of a group that call each other are written out, or none.
      const bool fits = total <= largest && calls_only_at_ends(component);
      for (const std::uint32_t rule : component) {
        sizes_of_rules[rule] = total;
        plan.inlined[rule] = fits && rule != tree_.root;
      }
      if (fits && component.size() > 1 &&
          std::find(component.begin(), component.end(), tree_.root) != component.end()) {
        for (const std::uint32_t rule : component) plan.inlined[rule] = false;
      }
    }
    plan.kept = {tree_.root};
    plan.kept_index_of.assign(num_rules, 0);
    for (std::uint32_t rule = 0; rule < num_rules; ++rule) {
      if (!reachable_[rule] || plan.inlined[rule] || rule == tree_.root) continue;
      plan.kept_index_of[rule] = static_cast<std::uint32_t>(plan.kept.size());
      plan.kept.push_back(rule);
    }
    return plan;
  }

 private:
  // Whether it may read nothing, and whether it is or holds a repetition that is counted. In doubt, a rule within a
  // recursion, it may be empty.
  void look_into(std::uint32_t index, RulePlan& plan, const std::vector<std::uint64_t>& sizes,
                 std::vector<bool>& may_be_empty) const {
    const Expression& expression = tree_.expressions[index];
    const auto any_child = [&](auto holds) {
      return std::any_of(expression.children.begin(), expression.children.end(), holds);
    };
    switch (expression.kind) {
      case Kind::literal:
        may_be_empty[index] = expression.bytes.empty();
        break;
      case Kind::characters:
        may_be_empty[index] = false;
        break;
      case Kind::reference: {
        const std::uint32_t used = tree_.rules[expression.rule].body;
        may_be_empty[index] = may_be_empty[used];
        plan.holds_counted[index] = plan.inlined[expression.rule] && plan.holds_counted[used];
        return;
      }
      case Kind::sequence:
        may_be_empty[index] = !any_child([&](std::uint32_t child) { return !may_be_empty[child]; });
        break;
      case Kind::choice:
        may_be_empty[index] = any_child([&](std::uint32_t child) { return bool{may_be_empty[child]}; });
        break;
      case Kind::repeat: {
        const bool empty = may_be_empty[expression.children[0]];
        may_be_empty[index] = expression.least == 0 || empty;
        const std::uint64_t copies = num_copies(expression);
        const std::uint64_t size = copies * (sizes[expression.children[0]] + 1);
        const bool several = expression.most != GrammarTree::kUnbounded ? copies > 1 : expression.least > 1;
        plan.counted[index] = several && !empty && size >= kLeastCountedSize && size <= kMostCountedSize;
        break;
      }
    }
    plan.holds_counted[index] =
        plan.counted[index] || any_child([&](std::uint32_t child) { return bool{plan.holds_counted[child]}; });
  }

  // Rules that call each other hold what one of them holds.
  void share_counted(const std::vector<std::uint32_t>& component, RulePlan& plan) const {
    const auto body_of = [&](std::uint32_t rule) { return tree_.rules[rule].body; };
    const bool any = std::any_of(component.begin(), component.end(),
                                 [&](std::uint32_t rule) { return bool{plan.holds_counted[body_of(rule)]}; });
    for (const std::uint32_t rule : component) plan.holds_counted[body_of(rule)] = any;
  }

  // A rule that is not recursive, or rules that call each other where they end, and nowhere else: a loop says the same.
  bool calls_only_at_ends(const std::vector<std::uint32_t>& component) const {
    for (const std::uint32_t rule : component) {
      const std::uint32_t first = tree_.rules[rule].first_expression;
      const std::uint32_t body = tree_.rules[rule].body;
      // Parents come behind their children.
      std::vector<bool> at_end(body - first + 1);
      at_end[body - first] = true;
      for (std::uint32_t e = body + 1; e-- > first;) {
        const Expression& expression = tree_.expressions[e];
        if (expression.kind == Kind::reference && !at_end[e - first] &&
            component_of_[expression.rule] == component_of_[rule])
          return false;
        if (!at_end[e - first]) continue;
        const std::vector<std::uint32_t>& children = expression.children;
        const bool once = expression.kind == Kind::repeat && expression.most == 1;
        if (expression.kind == Kind::choice || once) {
          for (const std::uint32_t child : children) at_end[child - first] = true;
        } else if (expression.kind == Kind::sequence && !children.empty()) {
          at_end[children.back() - first] = true;
        }
      }
    }
    return true;
  }

  std::uint64_t size_of(std::uint32_t index, const RulePlan& plan, const std::vector<std::uint64_t>& sizes,
                        const std::vector<std::uint64_t>& sizes_of_rules) const {
    const Expression& expression = tree_.expressions[index];
    std::uint64_t size = 1;
    switch (expression.kind) {
      case Kind::literal:
        size = expression.bytes.size();
        break;
      case Kind::characters:
        size = character_sizes_[index];
        break;
      case Kind::reference:
        if (plan.inlined[expression.rule]) size = sizes_of_rules[expression.rule];
        break;
      case Kind::sequence:
      case Kind::choice:
        for (const std::uint32_t child : expression.children) size += sizes[child] + 1;
        break;
      case Kind::repeat: {
        const std::uint64_t one = sizes[expression.children[0]] + 1;
        const bool endless = expression.most == GrammarTree::kUnbounded;
        size += plan.counted[index] ? kSizeOfCounted + (endless ? one : 0) : num_copies(expression) * one;
        break;
      }
    }
    return std::min(size, kHuge);
  }

  const GrammarTree& tree_;
  std::vector<std::uint64_t> character_sizes_;
  std::vector<std::vector<std::uint32_t>> uses_;
  std::vector<std::vector<std::uint32_t>> components_;
  std::vector<std::uint32_t> component_of_;
  std::vector<bool> reachable_;
};

}  // namespace

RulePlan plan_rules(const GrammarTree& tree, std::uint64_t largest) {
  std::vector<std::uint64_t> sizes;
  return Planner(tree).plan(largest, sizes);
}

std::vector<std::uint64_t> expression_sizes(const GrammarTree& tree) {
  std::vector<std::uint64_t> sizes;
  Planner(tree).plan(0, sizes);
  return sizes;
}

}  // namespace semfuse
