#include "decoding/gbnf_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/nearest_word.h"
#include "decoding/setting_text.h"
#include "decoding/utf8.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

using Expression = GrammarTree::Expression;
using Kind = GrammarTree::Kind;

constexpr std::array kWordClasses = {WordClass::subject,     WordClass::pronoun,     WordClass::verb,
                                     WordClass::object,      WordClass::intensifier, WordClass::adjective,
                                     WordClass::punctuation, WordClass::other};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class Parser {
 public:
  Parser(const GrammarText& source, const Lexicon& lexicon) : source_(source), text_(source.text), lexicon_(lexicon) {}

  GrammarTree parse() {
    check_bytes();
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // A byte order mark.
    for (skip_space(true); !at_end(); skip_space(true)) parse_rule();
    define_word_classes();
    check_names();
    return std::move(tree_);
  }

 private:
  bool at_end() const { return position_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  bool at_line_end() const { return at_end() || peek() == '\n' || peek() == '\r'; }

  [[noreturn]] void fail(std::size_t offset, const std::string& what) const { source_.fail(offset, what); }

  // How the text goes on, for messages.
  std::string next_text() const {
    if (at_end()) return "the end of the grammar";
    if (at_line_end()) return "the end of the line";
    const std::size_t length = std::max<std::size_t>(1, utf8_character_length(text_.substr(position_)));
    return quoted_text(text_.substr(position_, length));
  }

  void check_bytes() const {
    if (text_.size() > kMaxGrammarBytes) {
      fail(0, fmt::format("the grammar has {} bytes, more than {}; make it shorter", text_.size(), kMaxGrammarBytes));
    }
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t length = utf8_character_length(text_.substr(i));
      if (length == 0) fail(i, "this is not valid UTF-8; save the grammar as UTF-8");
      i += length;
    }
  }

  // Spaces and comments; with `lines`, line ends too.
  void skip_space(bool lines) {
    while (!at_end()) {
      const char c = peek();
      if (c == '#') {
        while (!at_line_end()) ++position_;
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++position_;
      } else {
        return;
      }
    }
  }

  std::string_view read_name() {
    const std::size_t begin = position_;
    while (!at_end() && is_name_character(peek())) ++position_;
    return text_.substr(begin, position_ - begin);
  }

  std::uint32_t rule_named(std::string_view name, std::size_t offset) {
    const auto [found, added] = rules_.emplace(std::string(name), static_cast<std::uint32_t>(tree_.rules.size()));
    if (added) tree_.rules.push_back({.name = std::string(name), .offset = static_cast<std::uint32_t>(offset)});
    return found->second;
  }

  void parse_rule() {
    const std::size_t begin = position_;
    const std::string_view name = read_name();
    if (name.empty()) {
      if (peek() == ')') fail(begin, "this \")\" closes no group; remove it");
      fail(begin, fmt::format("expected the name of a rule, found {}; write rules as name ::= ...", next_text()));
    }
    skip_space(false);
    if (peek() == '[') fail(position_, "a rule is set where it is used; write its settings there");
    if (text_.substr(position_, 3) != "::=") {
      fail(position_, fmt::format("expected ::= after the name \"{}\", found {}", name, next_text()));
    }
    position_ += 3;
    const std::uint32_t index = rule_named(name, begin);
    if (tree_.rules[index].defined) {
      fail(begin, fmt::format("rule \"{}\" is defined twice (first at line {}); remove or rename one", name,
                              source_.line_of(tree_.rules[index].offset)));
    }
    tree_.rules[index].defined = true;
    tree_.rules[index].offset = static_cast<std::uint32_t>(begin);
    const auto first = static_cast<std::uint32_t>(tree_.expressions.size());
    skip_space(true);
    const std::uint32_t body = parse_choice(0);
    tree_.rules[index].first_expression = first;
    tree_.rules[index].body = body;
    if (!at_line_end()) {
      if (peek() == ')') fail(position_, "this \")\" closes no group; remove it");
      fail(position_, fmt::format("did not expect {} here; put literals in quotes", next_text()));
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
    Expression choice = make(Kind::choice, position_);
    choice.children.push_back(parse_sequence(depth));
    while (at_bar(depth > 0)) {
      ++position_;
      skip_space(true);
      choice.children.push_back(parse_sequence(depth));
    }
    return choice.children.size() == 1 ? choice.children[0] : add(std::move(choice));
  }

  // A rule goes on in the next line if that begins with a bar.
  bool at_bar(bool nested) {
    const std::size_t begin = position_;
    skip_space(true);
    if (peek() == '|') return true;
    if (!nested) position_ = begin;
    return false;
  }

  std::uint32_t parse_sequence(std::uint32_t depth) {
    Expression sequence = make(Kind::sequence, position_);
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
    const std::size_t begin = position_;
    if (c == '"') return parse_literal();
    if (c == '[') return parse_characters();
    if (c == '(') return parse_group(depth);
    if (c == '@') return parse_word_class();
    if (c == '.') {
      ++position_;
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
    fail(begin, fmt::format("did not expect {} here; put literals in quotes", next_text()));
  }

  std::uint32_t parse_group(std::uint32_t depth) {
    const std::size_t begin = position_++;
    if (depth + 1 > kMaxGrammarDepth) {
      fail(begin, fmt::format("nested deeper than {}; give inner parts rules of their own", kMaxGrammarDepth));
    }
    const std::uint32_t inside = parse_choice(depth + 1);
    skip_space(true);
    if (at_end()) fail(begin, "this group is not closed; add \")\"");
    if (peek() != ')') fail(position_, fmt::format("did not expect {} here; put literals in quotes", next_text()));
    ++position_;
    return inside;
  }

  std::uint32_t parse_word_class() {
    const std::size_t begin = position_++;
    const std::string_view name = read_name();
    if (!word_class_from_string(name)) {
      std::vector<std::string> known;
      for (const WordClass word_class : kWordClasses) known.emplace_back(to_string(word_class));
      fail(begin, fmt::format("there is no word class {}; choose one of {}{}", quoted_text(name),
                              fmt::join(known, ", "), did_you_mean(name, known)));
    }
    Expression reference = make(Kind::reference, begin);
    reference.rule = rule_named(fmt::format("@{}", name), begin);
    reference.settings = parse_settings();
    return add(std::move(reference));
  }

  // A setting where none can be, or one that is misspelt, must not become a class of characters.
  void refuse_setting_as_class(std::size_t begin, bool behind_name) const {
    const std::string_view inside = text_.substr(begin + 1);
    if (const std::string_view name = name_of_setting(inside); name.size() > 1) {
      const bool second = begin > 0 && text_[begin - 1] == ']';
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
    if (name_of_setting(text_.substr(position_ + 1)).empty()) {
      refuse_setting_as_class(position_, true);
      return settings;
    }
    const std::size_t begin = position_++;
    while (true) {
      skip_space(false);
      const auto offset = static_cast<std::uint32_t>(position_);
      GrammarTree::Setting setting = {.knob = std::string(read_name()), .value = {}, .offset = offset};
      skip_space(false);
      ++position_;  // "="
      bool more = false;
      while (peek() != ']' && !more) {
        if (at_line_end() || peek() == '[') fail(begin, "this setting is not closed; add \"]\"");
        more = peek() == ',' && !name_of_setting(text_.substr(position_ + 1)).empty();
        if (more) {
          ++position_;
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
    ++position_;
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
      for (std::string& word : lexicon_.words(*word_class_from_string(std::string_view(rule.name).substr(1)))) {
        Expression literal = make(Kind::literal, rule.offset);
        literal.bytes = std::move(word);
        choice.children.push_back(add(std::move(literal)));
      }
      rule.body = add(std::move(choice));
    }
  }

  std::uint32_t parse_literal() {
    Expression literal = make(Kind::literal, position_);
    ++position_;
    while (peek() != '"' || at_end()) {
      if (at_line_end())
        fail(literal.offset, "this literal is not closed on its line; add \", or write \\n for a line end");
      append_utf8(read_character(), literal.bytes);
    }
    ++position_;
    return add(std::move(literal));
  }

  std::uint32_t parse_characters() {
    Expression characters = make(Kind::characters, position_);
    refuse_setting_as_class(position_, false);
    ++position_;
    const bool negated = peek() == '^';
    if (negated) ++position_;
    std::vector<CodePointRange> ranges;
    while (peek() != ']') {
      if (at_line_end()) fail(characters.offset, "this character class is not closed on its line; add \"]\"");
      const std::size_t begin = position_;
      const char32_t low = read_character();
      char32_t high = low;
      if (peek() == '-' && position_ + 1 < text_.size() && text_[position_ + 1] != ']') {
        ++position_;
        if (at_line_end()) fail(characters.offset, "this character class is not closed on its line; add \"]\"");
        high = read_character();
      }
      if (low > high) {
        fail(begin, fmt::format("the range {} runs backwards; swap its ends",
                                quoted_text(text_.substr(begin, position_ - begin))));
      }
      ranges.push_back({low, high});
    }
    if (ranges.empty()) fail(characters.offset, "this character class is empty; name a character, or write . for any");
    ++position_;
    characters.ranges = normalised(std::move(ranges));
    if (negated) characters.ranges = complement(characters.ranges);
    return add(std::move(characters));
  }

  // One character of a literal or class, which is not at its end.
  char32_t read_character() {
    if (peek() != '\\') {
      const char32_t code_point = first_code_point(text_.substr(position_));
      position_ += utf8_character_length(text_.substr(position_));
      return code_point;
    }
    const std::size_t begin = position_++;
    const char c = peek();
    if (!at_line_end()) ++position_;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<char32_t>(c);
      case 'x':
        return read_hexadecimal(begin, 2);
      case 'u':
        return read_hexadecimal(begin, 4);
      case 'U':
        return read_hexadecimal(begin, 8);
      default:
        break;
    }
    fail(begin, "unknown escape; use one of \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\xHH \\uHHHH \\UHHHHHHHH");
  }

  char32_t read_hexadecimal(std::size_t begin, std::size_t num_digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < num_digits; ++i) {
      const char c = peek();
      char32_t digit = 0;
      if (c >= '0' && c <= '9') {
        digit = static_cast<char32_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        digit = static_cast<char32_t>(c - 'a' + 10);
      } else if (c >= 'A' && c <= 'F') {
        digit = static_cast<char32_t>(c - 'A' + 10);
      } else {
        fail(begin, fmt::format("this escape needs {} hexadecimal digits", num_digits));
      }
      value = value << 4 | digit;
      ++position_;
    }
    if (value > kLastCodePoint || (value >= kFirstSurrogate && value <= kLastSurrogate)) {
      fail(begin, "this escape is no Unicode character; choose one up to 10FFFF outside D800 to DFFF");
    }
    return value;
  }

  std::uint32_t parse_repeat(std::uint32_t item) {
    Expression repeat = make(Kind::repeat, position_);
    const char c = text_[position_++];
    repeat.least = c == '+' ? 1 : 0;
    repeat.most = c == '?' ? 1 : GrammarTree::kUnbounded;
    if (c == '{') {
      repeat.least = read_count();
      repeat.most = repeat.least;
      skip_space(false);
      if (peek() == ',') {
        ++position_;
        skip_space(false);
        repeat.most = peek() == '}' ? GrammarTree::kUnbounded : read_count();
        skip_space(false);
      }
      if (peek() != '}') {
        fail(position_,
             fmt::format("expected \"}}\" after the count, found {}; write {{2}}, {{2,}} or {{2,5}}", next_text()));
      }
      ++position_;
      if (repeat.least > repeat.most) {
        fail(repeat.offset,
             fmt::format("the repetition {{{},{}}} runs backwards; swap its counts", repeat.least, repeat.most));
      }
    }
    repeat.children = {item};
    return add(std::move(repeat));
  }

  std::uint32_t read_count() {
    skip_space(false);
    const std::size_t begin = position_;
    std::uint32_t count = 0;
    while (peek() >= '0' && peek() <= '9') {
      count = std::min(count * 10 + static_cast<std::uint32_t>(peek() - '0'), kMaxRepetitions + 1);
      ++position_;
    }
    if (position_ == begin)
      fail(begin, fmt::format("expected a count, found {}; write {{2}}, {{2,}} or {{2,5}}", next_text()));
    if (count > kMaxRepetitions) {
      fail(begin, fmt::format("the count {} is above {}; choose a smaller one, or * for any number",
                              quoted_text(text_.substr(begin, position_ - begin)), kMaxRepetitions));
    }
    return count;
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
      fail(text_.size(), "there is no rule \"root\", where every sentence begins; add root ::= ...");
    }
    tree_.root = root->second;
  }

  const GrammarText& source_;
  std::string_view text_;
  const Lexicon& lexicon_;
  std::size_t position_ = 0;
  GrammarTree tree_;
  std::unordered_map<std::string, std::uint32_t> rules_;
  std::unordered_map<std::string, std::uint32_t> settings_;  // By "knob=value".
};

}  // namespace

GrammarTree parse_gbnf(const GrammarText& source, const Lexicon& lexicon) {
  return Parser(source, lexicon).parse();
}

}  // namespace semfuse
