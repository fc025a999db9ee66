#include "grammar/gbnf_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/nearest_word.h"
#include "grammar/gbnf_reader.h"
#include "grammar/setting_text.h"
#include "grammar/utf8.h"
#include "io/quoted_text.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

class Parser : GbnfReader {
 public:
  Parser(const GrammarText& source, const WordsOfClass& words_of_class)
      : GbnfReader(source), words_of_class_(words_of_class) {}

  GrammarTree parse() {
    check_bytes();
    for (skip_space(true); !at_end(); skip_space(true)) parse_rule();
    define_word_classes();
    check_names();
    return std::move(tree_);
  }

 private:
  std::uint32_t rule_named(std::string_view name, std::size_t offset) {
    const auto [found, added] = rules_.emplace(std::string(name), static_cast<std::uint32_t>(tree_.rules.size()));
    if (added) tree_.rules.push_back({.name = std::string(name), .offset = static_cast<std::uint32_t>(offset)});
    return found->second;
  }

  void parse_rule() {
    const std::size_t begin = position();
    const std::string_view name = read_name();
    if (name.empty()) {
      if (peek() == ')') fail(begin, "this \")\" closes no group; remove it");
      fail(begin, fmt::format("expected the name of a rule, found {}; write rules as name ::= ...", next_text()));
    }
    skip_space(false);
    if (peek() == '[') fail(position(), "a rule is set where it is used; write its settings there");
    if (!rest().starts_with("::=")) {
      fail(position(), fmt::format("expected ::= after the name \"{}\", found {}", name, next_text()));
    }
    skip(3);
    const std::uint32_t index = rule_named(name, begin);
    if (tree_.rules[index].defined) {
      fail(begin, fmt::format("rule \"{}\" is defined twice (first at line {}); remove or rename one", name,
                              line_of(tree_.rules[index].offset)));
    }
    tree_.rules[index].defined = true;
    tree_.rules[index].offset = static_cast<std::uint32_t>(begin);
    const auto first = static_cast<std::uint32_t>(tree_.expressions.size());
    skip_space(true);
    const std::uint32_t body = parse_choice(0);
    tree_.rules[index].first_expression = first;
    tree_.rules[index].body = body;
    if (!at_line_end()) {
      if (peek() == ')') fail(position(), "this \")\" closes no group; remove it");
      fail(position(), fmt::format("did not expect {} here; put literals in quotes", next_text()));
    }
  }

  std::uint32_t add(Expression expression) {
    for (const std::uint32_t child : expression.children) {
      expression.height = std::max(expression.height, tree_.expressions[child].height + 1);
    }
    if (expression.height > kMaxGrammarDepth) {
      fail(expression.offset,
           fmt::format("nested deeper than {}; give inner parts rules of their own", kMaxGrammarDepth));
    }
    tree_.expressions.push_back(std::move(expression));
    return static_cast<std::uint32_t>(tree_.expressions.size() - 1);
  }

  Expression make(Kind kind, std::size_t offset) const {
    return {.kind = kind, .offset = static_cast<std::uint32_t>(offset)};
  }

  // Depth counts the groups around it.
  std::uint32_t parse_choice(std::uint32_t depth) {
    Expression choice = make(Kind::choice, position());
    choice.children.push_back(parse_sequence(depth));
    while (at_bar(depth > 0)) {
      skip();
      skip_space(true);
      choice.children.push_back(parse_sequence(depth));
    }
    return choice.children.size() == 1 ? choice.children[0] : add(std::move(choice));
  }

  // A rule goes on in the next line if that begins with a bar.
  bool at_bar(bool nested) {
    const std::size_t begin = position();
    skip_space(true);
    if (peek() == '|') return true;
    if (!nested) go_back(begin);
    return false;
  }

  std::uint32_t parse_sequence(std::uint32_t depth) {
    Expression sequence = make(Kind::sequence, position());
    while (true) {
      skip_space(depth > 0);
      if (at_line_end() || peek() == '|' || peek() == ')') break;
      std::uint32_t item = parse_item(depth);
      while (true) {
        skip_space(depth > 0);
        const char c = peek();
        if (c != '*' && c != '+' && c != '?' && c != '{') break;
        item = parse_repeat(item);
      }
      sequence.children.push_back(item);
    }
    return sequence.children.size() == 1 ? sequence.children[0] : add(std::move(sequence));
  }

  std::uint32_t parse_item(std::uint32_t depth) {
    const char c = peek();
    const std::size_t begin = position();
    if (c == '"') return parse_literal();
    if (c == '[') return parse_characters();
    if (c == '(') return parse_group(depth);
    if (c == '@') return parse_word_class();
    if (c == '.') {
      skip();
      Expression any = make(Kind::characters, begin);
      any.ranges = {{0, kLastCodePoint}};
      return add(std::move(any));
    }
    if (is_name_character(c)) {
      Expression reference = make(Kind::reference, begin);
      reference.rule = rule_named(read_name(), begin);
      reference.settings = parse_settings();
      return add(std::move(reference));
    }
    if (c == '*' || c == '+' || c == '?' || c == '{') {
      fail(begin, fmt::format("\"{}\" repeats what stands before it, but nothing does", c));
    }
    if (c == '\'') fail(begin, "literals stand in double quotes; write \"a\"");
    if (c == '<')
      fail(begin, "rules are named without < >, and tokens have no names here; put literals in double quotes");
    fail(begin, fmt::format("did not expect {} here; put literals in quotes", next_text()));
  }

  std::uint32_t parse_group(std::uint32_t depth) {
    const std::size_t begin = skip();
    if (depth + 1 > kMaxGrammarDepth) {
      fail(begin, fmt::format("nested deeper than {}; give inner parts rules of their own", kMaxGrammarDepth));
    }
    const std::uint32_t inside = parse_choice(depth + 1);
    skip_space(true);
    if (at_end()) fail(begin, "this group is not closed; add \")\"");
    if (peek() != ')') fail(position(), fmt::format("did not expect {} here; put literals in quotes", next_text()));
    skip();
    return inside;
  }

  std::uint32_t parse_word_class() {
    const std::size_t begin = skip();
    const std::string name = fmt::format("@{}", read_name());
    if (!classes_.contains(name)) classes_[name] = words_of_class(name.substr(1), begin);
    Expression reference = make(Kind::reference, begin);
    reference.rule = rule_named(name, begin);
    reference.settings = parse_settings();
    return add(std::move(reference));
  }

  std::vector<std::string> words_of_class(const std::string& name, std::size_t offset) const {
    if (!words_of_class_)
      fail(offset, fmt::format("there is no word class {}, as there is no lexicon", quoted_text(name)));
    try {
      return words_of_class_(name);
    } catch (const Error& error) {
      fail(offset, error.what());
    }
  }

  // A setting where none can be, or one that is misspelt, must not become a class of characters.
  void refuse_setting_as_class(std::size_t begin, bool behind_name) const {
    const std::string_view inside = text().substr(begin + 1);
    if (const std::string_view name = name_of_setting(inside); name.size() > 1) {
      const bool second = begin > 0 && text()[begin - 1] == ']';
      fail(begin, second
                      ? std::string("settings of a rule share a bracket; write [polarity=0.9, strength=0.3]")
                      : fmt::format("a setting stands right behind the name of a rule or class, without a space; for "
                                    "a class of characters write the \"=\" before the \"{}\"",
                                    name));
    }
    if (const std::string_view name = name_of_misspelt_setting(inside); behind_name && name.size() > 1)
      fail(begin, fmt::format("write a setting as [{}=VALUE], or a class of characters behind a space", name));
  }

  // "[polarity=0.9, strength=0.3]" right behind a name; any other bracket there is a character class.
  std::vector<std::uint32_t> parse_settings() {
    std::vector<std::uint32_t> settings;
    if (peek() != '[') return settings;
    if (name_of_setting(rest().substr(1)).empty()) {
      refuse_setting_as_class(position(), true);
      return settings;
    }
    const std::size_t begin = skip();
    while (true) {
      skip_space(false);
      const auto offset = static_cast<std::uint32_t>(position());
      GrammarTree::Setting setting = {.knob = std::string(read_name()), .value = {}, .offset = offset};
      skip_space(false);
      skip();  // "="
      bool more = false;
      while (peek() != ']' && !more) {
        if (at_line_end() || peek() == '[') fail(begin, "this setting is not closed; add \"]\"");
        more = peek() == ',' && !name_of_setting(rest().substr(1)).empty();
        if (more) {
          skip();
        } else {
          append_utf8(read_character(), setting.value);
        }
      }
      setting.value.erase(setting.value.find_last_not_of(" \t") + 1);
      setting.value.erase(0, setting.value.find_first_not_of(" \t"));
      if (setting.value.empty()) {
        fail(offset,
             fmt::format("knob \"{}\" is set to nothing; write [{}=VALUE], or a class of characters behind a space",
                         setting.knob, setting.knob));
      }
      for (const std::uint32_t other : settings) {
        if (tree_.settings[other].knob == setting.knob)
          fail(offset, fmt::format("knob \"{}\" is set twice here; remove one", setting.knob));
      }
      settings.push_back(find_setting(std::move(setting)));
      if (!more) break;
    }
    skip();
    return settings;
  }

  std::uint32_t find_setting(GrammarTree::Setting setting) {
    const auto [found, added] = settings_.emplace(fmt::format("{}={}", setting.knob, setting.value),
                                                  static_cast<std::uint32_t>(tree_.settings.size()));
    if (added) {
      if (tree_.settings.size() == kMaxSettings)
        fail(setting.offset, fmt::format("more than {} different settings; set fewer rules", kMaxSettings));
      tree_.settings.push_back(std::move(setting));
    }
    return found->second;
  }

  // Every word class in use becomes a rule.
  void define_word_classes() {
    for (GrammarTree::Rule& rule : tree_.rules) {
      if (!rule.name.starts_with('@')) continue;
      rule.defined = true;
      rule.first_expression = static_cast<std::uint32_t>(tree_.expressions.size());
      Expression choice = make(Kind::choice, rule.offset);
      for (std::string& word : classes_.at(rule.name)) {
        Expression literal = make(Kind::literal, rule.offset);
        literal.bytes = std::move(word);
        choice.children.push_back(add(std::move(literal)));
      }
      rule.body = add(std::move(choice));
    }
  }

  std::uint32_t parse_literal() {
    Expression literal = make(Kind::literal, position());
    skip();
    while (peek() != '"' || at_end()) {
      if (at_line_end())
        fail(literal.offset, "this literal is not closed on its line; add \", or write \\n for a line end");
      append_utf8(read_character(), literal.bytes);
    }
    skip();
    return add(std::move(literal));
  }

  std::uint32_t parse_characters() {
    Expression characters = make(Kind::characters, position());
    refuse_setting_as_class(position(), false);
    skip();
    const bool negated = peek() == '^';
    if (negated) skip();
    std::vector<CodePointRange> ranges;
    while (peek() != ']') {
      if (at_line_end()) fail(characters.offset, "this character class is not closed on its line; add \"]\"");
      const std::size_t begin = position();
      const char32_t low = read_character();
      char32_t high = low;
      if (peek() == '-' && rest().size() > 1 && rest()[1] != ']') {
        skip();
        if (at_line_end()) fail(characters.offset, "this character class is not closed on its line; add \"]\"");
        high = read_character();
      }
      if (low > high) {
        fail(begin, fmt::format("the range {} runs backwards; swap its ends",
                                quoted_text(text().substr(begin, position() - begin))));
      }
      ranges.push_back({low, high});
    }
    if (ranges.empty()) fail(characters.offset, "this character class is empty; name a character, or write . for any");
    skip();
    characters.ranges = normalised(std::move(ranges));
    if (negated) characters.ranges = complement(characters.ranges);
    return add(std::move(characters));
  }

  std::uint32_t parse_repeat(std::uint32_t item) {
    Expression repeat = make(Kind::repeat, position());
    const char c = text()[skip()];
    repeat.least = c == '+' ? 1 : 0;
    repeat.most = c == '?' ? 1 : GrammarTree::kUnbounded;
    if (c == '{') {
      repeat.least = read_count();
      repeat.most = repeat.least;
      skip_space(false);
      if (peek() == ',') {
        skip();
        skip_space(false);
        repeat.most = peek() == '}' ? GrammarTree::kUnbounded : read_count();
        skip_space(false);
      }
      if (peek() != '}') {
        fail(position(),
             fmt::format("expected \"}}\" after the count, found {}; write {{2}}, {{2,}} or {{2,5}}", next_text()));
      }
      skip();
      if (repeat.least > repeat.most) {
        fail(repeat.offset,
             fmt::format("the repetition {{{},{}}} runs backwards; swap its counts", repeat.least, repeat.most));
      }
    }
    repeat.children = {item};
    return add(std::move(repeat));
  }

  void check_names() {
    std::vector<std::string> defined;
    for (const GrammarTree::Rule& rule : tree_.rules) {
      if (rule.defined && !rule.name.starts_with('@')) defined.push_back(rule.name);
    }
    for (const GrammarTree::Rule& rule : tree_.rules) {
      if (rule.defined) continue;
      fail(rule.offset, fmt::format("there is no rule {}; define it, or put a literal in quotes{}",
                                    quoted_text(rule.name), did_you_mean(rule.name, defined)));
    }
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      fail(text().size(), "there is no rule \"root\", where every sentence begins; add root ::= ...");
    }
    tree_.root = root->second;
  }

  const WordsOfClass& words_of_class_;
  GrammarTree tree_;
  std::unordered_map<std::string, std::uint32_t> rules_;
  std::unordered_map<std::string, std::uint32_t> settings_;            // By "knob=value".
  std::unordered_map<std::string, std::vector<std::string>> classes_;  // Words, by "@class".
};

}  // namespace

GrammarTree parse_gbnf(const GrammarText& source, const WordsOfClass& words_of_class) {
  return Parser(source, words_of_class).parse();
}

}  // namespace semfuse
