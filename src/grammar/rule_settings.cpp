#include "grammar/rule_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace semfuse {
namespace {

using Expression = GrammarTree::Expression;

constexpr std::size_t kMostExpressions = 1'000'000;

class Spreader {
 public:
  Spreader(GrammarTree tree, const GrammarText& source) : tree_(std::move(tree)), source_(source) {
    result_.settings = tree_.settings;
  }

  GrammarTree spread() {
    result_.root = rule_in(tree_.root, 0);
    for (std::size_t i = 0; i < copies_.size(); ++i) copy(static_cast<std::uint32_t>(i));
    return std::move(result_);
  }

 private:
  struct Copy {
    std::uint32_t rule;
    std::uint32_t context;
  };

  std::uint32_t rule_in(std::uint32_t rule, std::uint32_t context) {
    const auto [found, added] = rules_.emplace(std::pair(rule, context), static_cast<std::uint32_t>(copies_.size()));
    if (added) {
      copies_.push_back({rule, context});
      result_.rules.push_back(tree_.rules[rule]);
    }
    return found->second;
  }

  void copy(std::uint32_t index) {
    const auto [rule, context] = copies_[index];
    const std::uint32_t first = tree_.rules[rule].first_expression;
    const std::uint32_t body = tree_.rules[rule].body;
    const auto new_first = static_cast<std::uint32_t>(result_.expressions.size());
    if (new_first + std::size_t{body - first} > kMostExpressions) {
      source_.fail(tree_.rules[rule].offset,
                   "with a copy of its rules for each setting the grammar is too large; set fewer rules");
    }
    for (std::uint32_t e = first; e <= body; ++e) {
      Expression expression = tree_.expressions[e];
      for (std::uint32_t& child : expression.children) child = new_first + (child - first);
      if (expression.kind == GrammarTree::Kind::reference) {
        expression.rule = rule_in(expression.rule, context_inside(expression, context));
        expression.settings.clear();
      }
      expression.context = context;
      result_.expressions.push_back(std::move(expression));
    }
    result_.rules[index].first_expression = new_first;
    result_.rules[index].body = new_first + (body - first);
  }

  std::uint32_t context_inside(const Expression& reference, std::uint32_t outside) {
    std::vector<std::uint32_t> context = reference.settings;
    for (const std::uint32_t outer : result_.contexts[outside]) {
      const bool set_inside = std::ranges::any_of(reference.settings, [&](std::uint32_t inner) {
        return tree_.settings[inner].knob == tree_.settings[outer].knob;
      });
      if (!set_inside) context.push_back(outer);
    }
    std::ranges::sort(context);
    const auto found = std::ranges::find(result_.contexts, context);
    const auto index = static_cast<std::uint32_t>(found - result_.contexts.begin());
    if (found != result_.contexts.end()) return index;
    if (index == kMaxContexts) {
      source_.fail(reference.offset,
                   fmt::format("settings combine in more than {} ways; set fewer rules", kMaxContexts - 1));
    }
    result_.contexts.push_back(std::move(context));
    return index;
  }

  GrammarTree tree_;
  const GrammarText& source_;
  GrammarTree result_;
  std::vector<Copy> copies_;  // Of each rule of the result.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> rules_;
};

}  // namespace

GrammarTree spread_settings(GrammarTree tree, const GrammarText& source) {
  if (tree.settings.empty()) return tree;
  return Spreader(std::move(tree), source).spread();
}

std::vector<std::size_t> settings_of(ContextSet contexts, const GrammarTree::Contexts& all) {
  std::set<std::size_t> settings;
  for (std::uint32_t c = 0; c < all.size(); ++c) {
    if ((contexts & context_set(c)) != 0) settings.insert(all[c].begin(), all[c].end());
  }
  return {settings.begin(), settings.end()};
}

}  // namespace semfuse
