#include "grammar/rule_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "grammar/strong_components.h"
#include "grammar/utf8.h"

namespace semfuse {
namespace {

using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

constexpr std::uint64_t kInlineBudget = 50'000;  // States of all rules after inlining.
constexpr std::uint32_t kMaxInlinedHeight = 400;
constexpr std::uint64_t kHuge = std::uint64_t{1} << 40;

struct Sizes {
  std::vector<std::uint64_t> of_expression;
  std::vector<std::uint64_t> of_rule;
};

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

  // Inlines what is not larger than `largest`; returns the number of states of the rules that stay.
  std::uint64_t plan(std::uint64_t largest, RulePlan& plan, Sizes& sizes) const {
    const std::size_t num_rules = tree_.rules.size();
    plan.inlined.assign(num_rules, false);
    sizes.of_expression.assign(tree_.expressions.size(), 0);
    sizes.of_rule.assign(num_rules, 0);
    std::vector<std::uint32_t> heights(tree_.expressions.size(), 1);
    std::uint64_t total = 0;
    for (const std::vector<std::uint32_t>& component : components_) {  // Rules come after those that they use.
      for (const std::uint32_t rule : component) {
        const std::uint32_t body = tree_.rules[rule].body;
        for (std::uint32_t e = tree_.rules[rule].first_expression; e <= body; ++e) measure(e, plan, sizes, heights);
        sizes.of_rule[rule] = sizes.of_expression[body];
      }
      const std::uint32_t rule = component[0];
      const bool recursive = component.size() > 1 || std::binary_search(uses_[rule].begin(), uses_[rule].end(), rule);
      plan.inlined[rule] = !recursive && rule != tree_.root && sizes.of_rule[rule] <= largest &&
                           heights[tree_.rules[rule].body] < kMaxInlinedHeight;
      for (const std::uint32_t member : component) {
        if (reachable_[member] && !plan.inlined[member]) total = std::min(kHuge, total + sizes.of_rule[member]);
      }
    }
    plan.kept = {tree_.root};
    plan.kept_index_of.assign(num_rules, 0);
    for (std::uint32_t rule = 0; rule < num_rules; ++rule) {
      if (!reachable_[rule] || plan.inlined[rule] || rule == tree_.root) continue;
      plan.kept_index_of[rule] = static_cast<std::uint32_t>(plan.kept.size());
      plan.kept.push_back(rule);
    }
    return total;
  }

 private:
  void measure(std::uint32_t index, const RulePlan& plan, Sizes& sizes, std::vector<std::uint32_t>& heights) const {
    const Expression& expression = tree_.expressions[index];
    std::uint64_t size = 1;
    std::uint32_t height = 1;
    switch (expression.kind) {
      case Kind::literal:
        size = expression.bytes.size();
        break;
      case Kind::characters:
        size = character_sizes_[index];
        break;
      case Kind::reference:
        if (plan.inlined[expression.rule]) {
          size = sizes.of_rule[expression.rule];
          height = 1 + heights[tree_.rules[expression.rule].body];
        }
        break;
      case Kind::sequence:
      case Kind::choice:
        for (const std::uint32_t child : expression.children) size += sizes.of_expression[child] + 1;
        break;
      case Kind::repeat: {
        const bool endless = expression.most == GrammarTree::kUnbounded;
        const std::uint64_t copies = endless ? expression.least + 1 : expression.most;
        size += copies * (sizes.of_expression[expression.children[0]] + 1);
        break;
      }
    }
    for (const std::uint32_t child : expression.children) height = std::max(height, heights[child] + 1);
    sizes.of_expression[index] = std::min(size, kHuge);
    heights[index] = height;
  }

  const GrammarTree& tree_;
  std::vector<std::uint64_t> character_sizes_;
  std::vector<std::vector<std::uint32_t>> uses_;
  std::vector<std::vector<std::uint32_t>> components_;
  std::vector<bool> reachable_;
};

}  // namespace

RulePlan plan_rules(const GrammarTree& tree, const GrammarText& source) {
  const Planner planner(tree);
  RulePlan plan;
  Sizes sizes;
  std::uint64_t total = 0;
  for (const std::uint64_t largest : std::array<std::uint64_t, 5>{kHuge, 2000, 200, 20, 0}) {
    total = planner.plan(largest, plan, sizes);
    if (total <= kInlineBudget) return plan;
  }
  if (total <= kMaxGrammarStates) return plan;
  std::size_t offset = tree.rules[tree.root].offset;
  for (std::size_t i = 0; i < tree.expressions.size(); ++i) {
    if (sizes.of_expression[i] <= kMaxGrammarStates) continue;
    offset = tree.expressions[i].offset;
    break;
  }
  source.fail(offset,
              fmt::format("with its repetitions written out{} the grammar has more than {} states; lower the counts{} "
                          "or shorten the grammar",
                          tree.settings.empty() ? "" : " and its rules copied for each setting", kMaxGrammarStates,
                          tree.settings.empty() ? "" : ", set fewer rules"));
}

}  // namespace semfuse
