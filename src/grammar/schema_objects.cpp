#include "grammar/schema_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "grammar/gbnf_text.h"

namespace semfuse {
namespace {

using Whitespace = JsonSchemaOptions::Whitespace;

constexpr std::size_t kMostPatterns = 4;
constexpr std::size_t kMostInAnyOrder = 10;
constexpr std::size_t kMostCounted = 20'000;  // Members times counts.

struct Member {
  std::string pair;  // "\"name\":" and the value.
  bool required;
};

class ObjectWriter {
 public:
  ObjectWriter(SchemaRules& rules, const SchemaShape& shape, const std::string& name, const std::string& pointer)
      : rules_(rules), shape_(shape), name_(name), pointer_(pointer), counts_(shape.num_members) {}

  std::string write() {
    find_members();
    find_others();
    if (!settle_counts()) return rules_.use(kNever);
    if (rules_.options().any_order && members_.size() > 1) return braces(write_any_order());
    return braces(counts_.is_free() ? write_in_order() : write_counted());
  }

 private:
  std::string pair_of(const std::string& key, const SchemaIds& ids) const {
    return SchemaRules::join({key, rules_.colon(), rules_.rule_of(ids)});
  }

  // In the order in which they are written first; what is only required comes last.
  void find_members() {
    std::vector<std::string>& names = named_;
    const auto add = [&names](const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const SchemaShape::ObjectPart& part : shape_.objects) {
      for (const auto& [name, schema] : part.properties) add(name);
    }
    for (const std::string& name : shape_.required) add(name);
    for (const std::string& name : names) {
      const SchemaIds ids = rules_.shapes().member(shape_, name);
      const bool required = std::find(shape_.required.begin(), shape_.required.end(), name) != shape_.required.end();
      if (!required && rules_.shapes().shapes(ids).empty()) continue;  // It must not be there.
      members_.push_back({pair_of(gbnf_literal(json_string(name)), ids), required});
    }
  }

  // A rule for members with other names: those that the same patterns match are alike.
  void find_others() {
    const std::vector<SchemaShape::Text> patterns = SchemaShapes::patterns_of(shape_);
    if (patterns.size() > kMostPatterns) {
      rules_.shapes().fail(pointer_ + "/patternProperties",
                           fmt::format("more than {} patterns; join some", kMostPatterns));
    }
    std::vector<std::string> pairs;
    for (std::uint32_t chosen = 0; chosen < 1u << patterns.size(); ++chosen) {
      std::vector<SchemaShape::Text> matching;
      for (std::size_t p = 0; p < patterns.size(); ++p) {
        if ((chosen >> p & 1) != 0) matching.push_back(patterns[p]);
      }
      const SchemaIds ids = SchemaShapes::other_member(shape_, matching);
      if (rules_.shapes().shapes(ids).empty()) continue;
      std::string key = rules_.use("string");
      if (!patterns.empty() || !named_.empty()) {
        CharacterAutomaton names = CharacterAutomaton::everything();
        for (std::size_t p = 0; p < patterns.size(); ++p) {
          const CharacterAutomaton& pattern = rules_.shapes().automaton(patterns[p]);
          names = (chosen >> p & 1) != 0 ? names.shared_with(pattern) : names.without(pattern);
        }
        names = names.without(CharacterAutomaton::of_strings(named_));
        if (names.empty()) continue;
        key = fmt::format("\"\\\"\" {} \"\\\"\"", rules_.add_automaton(names, name_ + "-name", true));
      }
      pairs.push_back(pair_of(key, ids));
    }
    if (pairs.empty()) return;
    other_ = rules_.new_name(name_ + "-other");
    rules_.add_rule(other_, fmt::format("{}", fmt::join(pairs, " | ")));
  }

  // False if no object has so many members. Drops what holds anyway.
  bool settle_counts() {
    const auto num_required = static_cast<std::uint32_t>(
        std::count_if(members_.begin(), members_.end(), [](const Member& member) { return member.required; }));
    if (counts_.is_empty() || num_required > counts_.most) return false;
    if (counts_.least <= num_required) counts_.least = 0;
    if (other_.empty() && members_.size() <= counts_.most) counts_.most = GrammarTree::kUnbounded;
    if (other_.empty() && members_.size() < counts_.least) return false;
    if (!other_.empty() && counts_.least > 1) {
      rules_.shapes().fail(pointer_ + "/minProperties",
                           "a grammar cannot keep apart members whose names it does not know; name them under "
                           "properties, with additionalProperties false");
    }
    return true;
  }

  std::string braces(const std::string& inside) const {
    if (inside.empty()) return SchemaRules::join({"\"{\"", rules_.space(), "\"}\""});
    return SchemaRules::join({"\"{\"", rules_.space(), inside, "\"}\""});
  }

  // Behind a member, and before "}".
  std::string part(std::size_t i) const {
    const std::string text = SchemaRules::join({rules_.comma(), members_[i].pair});
    return members_[i].required ? text : "(" + text + ")?";
  }

  std::string others_behind() const { return other_.empty() ? "" : fmt::format("({} {})*", rules_.comma(), other_); }

  std::string write_in_order() {
    const auto first_required = static_cast<std::size_t>(
        std::find_if(members_.begin(), members_.end(), [](const Member& m) { return m.required; }) - members_.begin());
    if (first_required == 0 && !members_.empty()) {
      std::string text = members_[0].pair;
      for (std::size_t i = 1; i < members_.size(); ++i) text = SchemaRules::join({text, part(i)});
      return SchemaRules::join({text, others_behind(), rules_.space()});
    }
    // What may follow member i, as a rule of its own: the object may begin with any of several.
    std::vector<std::string> behind(members_.size() + 1);
    behind[members_.size()] = others_behind();
    for (std::size_t i = members_.size(); i-- > 1;) {
      behind[i] = rules_.new_name(name_ + "-rest");
      rules_.add_rule(behind[i], SchemaRules::join({part(i), behind[i + 1]}));
    }
    std::vector<std::string> begins;
    for (std::size_t i = 0; i < members_.size() && i <= first_required; ++i)
      begins.push_back(SchemaRules::join({members_[i].pair, behind[i + 1]}));
    const bool none_required = first_required == members_.size();
    if (none_required && !other_.empty()) begins.push_back(SchemaRules::join({other_, others_behind()}));
    if (begins.empty()) return "";
    const std::string text = SchemaRules::join({fmt::format("({})", fmt::join(begins, " | ")), rules_.space()});
    return none_required ? "(" + text + ")?" : text;
  }

  // A rule for each member that may come next and each number of members before it.
  std::string write_counted() {
    const std::uint32_t limit = counts_.most == GrammarTree::kUnbounded ? counts_.least : counts_.most;
    if (members_.size() * std::size_t{limit + 1} > kMostCounted) {
      rules_.shapes().fail(pointer_, "too many members to count; leave out minProperties and maxProperties");
    }
    const std::string text = counted_from(0, 0);
    if (text.empty()) return "";
    const bool may_be_empty = counts_.least == 0 && std::none_of(members_.begin(), members_.end(),
                                                                 [](const Member& member) { return member.required; });
    return may_be_empty ? fmt::format("({})?", SchemaRules::join({"(" + text + ")", rules_.space()}))
                        : SchemaRules::join({"(" + text + ")", rules_.space()});
  }

  // What follows if `count` members stand there; of none, only what has some.
  std::string counted_from(std::size_t i, std::uint32_t count) {
    const std::uint32_t cap = counts_.most == GrammarTree::kUnbounded ? std::max(1u, counts_.least) : counts_.most;
    if (i == members_.size()) return counted_others(count);
    std::string* name = nullptr;
    if (count > 0) {
      const auto [found, added] = counted_.emplace(std::pair(i, count), std::string());
      if (!added) return found->second;
      name = &found->second;
      *name = rules_.new_name(name_ + "-rest");
    }
    std::vector<std::string> ways;
    if (count < counts_.most) {
      const std::string rest = counted_from(i + 1, std::min(count + 1, cap));
      if (rest != kNever) ways.push_back(SchemaRules::join({count > 0 ? rules_.comma() : "", members_[i].pair, rest}));
    }
    if (!members_[i].required) {
      const std::string rest = counted_from(i + 1, count);
      if (rest != kNever && (count > 0 || !rest.empty())) ways.push_back(rest.empty() ? "\"\"" : rest);
    }
    if (ways.empty()) ways.push_back(rules_.use(kNever));
    std::string text = fmt::format("{}", fmt::join(ways, " | "));
    if (name == nullptr) return text;
    rules_.add_rule(*name, text);
    return *name;
  }

  std::string counted_others(std::uint32_t count) {
    const std::uint32_t least = counts_.least > count ? counts_.least - count : 0;
    const std::uint32_t most = counts_.most == GrammarTree::kUnbounded ? GrammarTree::kUnbounded : counts_.most - count;
    if (other_.empty() || most == 0) return least > 0 ? rules_.use(kNever) : "";
    if (count > 0) return fmt::format("({} {}){}", rules_.comma(), other_, gbnf_count(least, most));
    const std::uint32_t more = most == GrammarTree::kUnbounded ? GrammarTree::kUnbounded : most - 1;
    const std::string rest =
        more == 0 ? "" : fmt::format("({} {}){}", rules_.comma(), other_, gbnf_count(least > 1 ? least - 1 : 0, more));
    return SchemaRules::join({other_, rest});
  }

  // A rule for each set of members that stand there already.
  std::string write_any_order() {
    if (members_.size() > kMostInAnyOrder) {
      rules_.shapes().fail(pointer_,
                           fmt::format("members of an object with more than {} names cannot stand in any order; "
                                       "keep to the order of properties",
                                       kMostInAnyOrder));
    }
    if (!counts_.is_free() && !other_.empty()) {
      rules_.shapes().fail(pointer_,
                           "members in any order are only counted if all their names are known; set "
                           "additionalProperties to false");
    }
    const std::size_t num_sets = std::size_t{1} << members_.size();
    std::vector<std::string> names(num_sets);
    for (std::string& name : names) name = rules_.new_name(name_ + "-set");
    std::string first;
    bool may_be_empty = false;
    for (std::size_t set = 0; set < num_sets; ++set) {
      const auto count = static_cast<std::uint32_t>(std::popcount(set));
      std::vector<std::string> ways;
      bool complete = count >= counts_.least;
      for (std::size_t i = 0; i < members_.size(); ++i) {
        if ((set >> i & 1) != 0) continue;
        complete = complete && !members_[i].required;
        if (count >= counts_.most) continue;
        ways.push_back(
            SchemaRules::join({set != 0 ? rules_.comma() : "", members_[i].pair, names[set | std::size_t{1} << i]}));
      }
      if (!other_.empty()) {
        // Behind another member nothing is named yet, but a comma stands before what follows.
        const std::string rest = set != 0 ? names[set] : rules_.new_name(name_ + "-set");
        ways.push_back(SchemaRules::join({set != 0 ? rules_.comma() : "", other_, rest}));
        if (set == 0) {
          std::vector<std::string> later;
          for (std::size_t i = 0; i < members_.size(); ++i)
            later.push_back(SchemaRules::join({rules_.comma(), members_[i].pair, names[std::size_t{1} << i]}));
          later.push_back(SchemaRules::join({rules_.comma(), other_, rest}));
          if (complete) later.emplace_back("\"\"");
          rules_.add_rule(rest, fmt::format("{}", fmt::join(later, " | ")));
        }
      }
      if (set == 0) {
        first = fmt::format("({})", fmt::join(ways, " | "));
        may_be_empty = complete;
        continue;
      }
      if (complete) ways.emplace_back("\"\"");
      if (ways.empty()) ways.push_back(rules_.use(kNever));
      rules_.add_rule(names[set], fmt::format("{}", fmt::join(ways, " | ")));
    }
    const std::string text = SchemaRules::join({first, rules_.space()});
    return may_be_empty ? "(" + text + ")?" : text;
  }

  SchemaRules& rules_;
  const SchemaShape& shape_;
  const std::string& name_;
  const std::string& pointer_;
  SchemaShape::Counts counts_;
  std::vector<std::string> named_;
  std::vector<Member> members_;
  std::string other_;  // A rule, or empty if there can be none.
  std::map<std::pair<std::size_t, std::uint32_t>, std::string> counted_;
};

}  // namespace

std::string SchemaRules::space() {
  return options_.whitespace == Whitespace::flexible ? use("ws") : "";
}

std::string SchemaRules::comma() {
  return options_.whitespace == Whitespace::flexible ? "\",\" " + use("ws")
         : options_.whitespace == Whitespace::spaced ? "\", \""
                                                     : "\",\"";
}

std::string SchemaRules::colon() {
  return options_.whitespace == Whitespace::flexible ? "\":\" " + use("ws")
         : options_.whitespace == Whitespace::spaced ? "\": \""
                                                     : "\":\"";
}

std::string SchemaRules::join(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    if (!text.empty()) text.push_back(' ');
    text += part;
  }
  return text;
}

std::string write_object(SchemaRules& rules, const SchemaShape& shape, const std::string& name,
                         const std::string& pointer) {
  return ObjectWriter(rules, shape, name, pointer).write();
}

}  // namespace semfuse
