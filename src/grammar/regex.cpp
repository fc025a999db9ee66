#include "grammar/regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "grammar/gbnf_parser.h"
#include "grammar/grammar_text.h"
#include "grammar/utf8.h"
#include "io/quoted_text.h"

namespace semfuse {
namespace {

using RegexKind = Regex::Kind;
using Node = Regex::Node;
using Ranges = std::vector<CodePointRange>;

constexpr std::uint32_t kMaxDepth = 100;
constexpr std::size_t kMaxBytes = 1 << 20;

const Ranges kDigits = {{'0', '9'}};
const Ranges kWordCharacters = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpaces = {{0x09, 0x0D},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

Ranges without_surrogates(const Ranges& ranges) {
  Ranges gaps = complement(ranges);
  gaps.push_back({kFirstSurrogate, kLastSurrogate});
  return complement(normalised(std::move(gaps)));
}

class RegexParser {
 public:
  explicit RegexParser(const GrammarText& source) : source_(source), text_(source.text) {}

  Regex parse() {
    if (text_.size() > kMaxBytes) fail(0, fmt::format("more than {} bytes; make it shorter", kMaxBytes));
    if (const std::size_t valid = valid_utf8_prefix(text_); valid < text_.size())
      fail(valid, "this is not valid UTF-8");
    parse_choice(0);
    if (!at_end()) fail(at_, "this \")\" closes no group; write \\) for the character");
    return std::move(regex_);
  }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& what) const { source_.fail(offset, what); }
  bool at_end() const { return at_ == text_.size(); }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  std::uint32_t add(Node node) {
    regex_.nodes.push_back(std::move(node));
    return regex_.root();
  }

  // What was added last is the root of what was read: so a tree of one child is that child, unless others followed it.
  std::uint32_t parse_choice(std::uint32_t depth) {
    if (depth > kMaxDepth) fail(at_, fmt::format("nested deeper than {}; make it flatter", kMaxDepth));
    Node choice = {.kind = RegexKind::choice};
    choice.children.push_back(parse_sequence(depth));
    while (take("|")) choice.children.push_back(parse_sequence(depth));
    return choice.children.size() == 1 ? choice.children[0] : add(std::move(choice));
  }

  std::uint32_t parse_sequence(std::uint32_t depth) {
    Node sequence = {.kind = RegexKind::sequence};
    while (!at_end() && peek() != '|' && peek() != ')') {
      const std::size_t begin = at_;
      const std::uint32_t item = parse_item(depth);
      sequence.children.push_back(parse_repeats(item, begin));
    }
    return sequence.children.size() == 1 ? sequence.children[0] : add(std::move(sequence));
  }

  std::uint32_t parse_item(std::uint32_t depth) {
    const std::size_t begin = at_;
    if (take("^")) return add({.kind = RegexKind::begin});
    if (take("$")) return add({.kind = RegexKind::end});
    if (take("(")) return parse_group(begin, depth);
    if (take("[")) return parse_class(begin);
    if (take(".")) return add_characters(complement(kLineEnds));
    if (peek() == '*' || peek() == '+' || peek() == '?') {
      fail(begin, fmt::format("\"{}\" repeats what stands before it, but nothing does", peek()));
    }
    if (peek() == '\\') return parse_escape();
    const char32_t character = read_character();
    return add_characters({{character, character}});
  }

  std::uint32_t add_characters(const Ranges& ranges) {
    return add({.kind = RegexKind::characters, .ranges = without_surrogates(ranges)});
  }

  std::uint32_t parse_group(std::size_t begin, std::uint32_t depth) {
    if (take("?")) {
      if (take("<") && peek() != '=' && peek() != '!') {
        while (!at_end() && peek() != '>') ++at_;
        if (!take(">")) fail(begin, "the name of this group is not closed; add \">\"");
      } else if (!take(":")) {
        fail(begin, "look-around and flags are not regular; use ( ), (?: ) or (?<name> )");
      }
    }
    const std::uint32_t inside = parse_choice(depth + 1);
    if (!take(")")) fail(begin, "this group is not closed; add \")\"");
    return inside;
  }

  std::uint32_t parse_repeats(std::uint32_t item, std::size_t begin) {
    for (bool repeated = false;; repeated = true) {
      Node repeat = {.kind = RegexKind::repeat, .most = GrammarTree::kUnbounded, .children = {item}};
      const std::size_t here = at_;
      if (take("*")) {
      } else if (take("+")) {
        repeat.least = 1;
      } else if (take("?")) {
        repeat.most = 1;
      } else if (peek() != '{' || !parse_counts(repeat)) {
        return item;
      }
      if (repeated) fail(here, "nothing to repeat: what stands before repeats already");
      if (regex_[item].kind == RegexKind::begin || regex_[item].kind == RegexKind::end) {
        fail(begin, "an anchor cannot be repeated; remove one of them");
      }
      take("?");  // The shortest match or the longest: the same texts.
      item = add(std::move(repeat));
    }
  }

  // "{2}", "{2,}" or "{2,5}"; any other brace is a character.
  bool parse_counts(Node& repeat) {
    const std::size_t begin = at_;
    ++at_;
    const auto count = [this]() -> std::optional<std::uint32_t> {
      if (peek() < '0' || peek() > '9') return std::nullopt;
      std::uint32_t value = 0;
      for (; peek() >= '0' && peek() <= '9'; ++at_)
        value = std::min(value * 10 + static_cast<std::uint32_t>(peek() - '0'), kMaxRepetitions + 1);
      return value;
    };
    const std::optional<std::uint32_t> least = count();
    std::optional<std::uint32_t> most = least;
    bool endless = false;
    if (least && take(",")) {
      most = count();
      endless = !most;
    }
    if (!least || !take("}")) {
      at_ = begin;
      return false;
    }
    if (*least > kMaxRepetitions || (most && *most > kMaxRepetitions)) {
      fail(begin, fmt::format("a count above {}; choose a smaller one, or * for any number", kMaxRepetitions));
    }
    if (most && *least > *most) fail(begin, "this repetition runs backwards; swap its counts");
    repeat.least = *least;
    repeat.most = endless ? GrammarTree::kUnbounded : *most;
    return true;
  }

  char32_t read_character() {
    const std::size_t length = utf8_character_length(text_.substr(at_));
    const char32_t character = first_code_point(text_.substr(at_));
    at_ += length;
    return character;
  }

  std::uint32_t parse_escape() {
    const std::size_t begin = at_;
    const char c = peek(1);
    if (c == 'b' || c == 'B') fail(begin, "word boundaries are not supported; write the characters that stand there");
    if ((c >= '1' && c <= '9') || c == 'k') fail(begin, "references back to a group are not regular; write it out");
    if (c == 'A' || c == 'Z' || c == 'z') fail(begin, "write ^ for the beginning of the text and $ for its end");
    if (const std::optional<Ranges> set = read_set()) return add_characters(*set);
    const char32_t character = read_escaped();
    return add_characters({{character, character}});
  }

  // \d and the like, if one stands here.
  std::optional<Ranges> read_set() {
    if (peek() != '\\') return std::nullopt;
    const char c = peek(1);
    const auto lower = static_cast<char>(c | 0x20);
    if (lower == 'p' && c != '\0') fail(at_, "properties of characters are not supported; write ranges as [A-Z]");
    const Ranges* set = lower == 'd' ? &kDigits : lower == 'w' ? &kWordCharacters : lower == 's' ? &kSpaces : nullptr;
    if (set == nullptr) return std::nullopt;
    at_ += 2;
    return c == lower ? *set : complement(*set);
  }

  // One character, which stands behind a backslash.
  char32_t read_escaped() {
    const std::size_t begin = at_++;
    if (at_end()) fail(begin, "the text ends behind this backslash; write \\\\ for the character");
    const char c = peek();
    ++at_;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'f':
        return '\f';
      case 'v':
        return '\v';
      case '0':
        return '\0';
      case 'x':
        return read_hexadecimal(begin, 2);
      case 'u':
        return read_unicode(begin);
      case 'c':
        if ((peek() >= 'a' && peek() <= 'z') || (peek() >= 'A' && peek() <= 'Z')) {
          return static_cast<char32_t>(text_[at_++] & 0x1F);
        }
        fail(begin, "\\c needs a letter");
      default:
        break;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter) fail(begin, fmt::format("unknown escape \"\\{}\"; write the character without the backslash", c));
    --at_;
    return read_character();
  }

  char32_t read_hexadecimal(std::size_t begin, std::size_t num_digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < num_digits; ++i, ++at_) {
      const char c = peek();
      const auto lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9') {
        value = value << 4 | static_cast<char32_t>(c - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        value = value << 4 | static_cast<char32_t>(lower - 'a' + 10);
      } else {
        fail(begin, fmt::format("this escape needs {} hexadecimal digits", num_digits));
      }
    }
    return value;
  }

  char32_t read_unicode(std::size_t begin) {
    if (take("{")) {
      std::size_t num_digits = 0;
      while (peek(num_digits) != '}' && num_digits < 7) ++num_digits;
      const char32_t value =
          num_digits == 0 || num_digits > 6 ? kLastCodePoint + 1 : read_hexadecimal(begin, num_digits);
      if (!take("}") || value > kLastCodePoint) fail(begin, "write \\u{...} with one to six digits, up to 10FFFF");
      return value;
    }
    const char32_t value = read_hexadecimal(begin, 4);
    if (value < kFirstSurrogate || value > kLastSurrogate) return value;
    if (value < 0xDC00 && take("\\u")) {
      const char32_t low = read_hexadecimal(begin, 4);
      if (low >= 0xDC00 && low <= kLastSurrogate) return 0x10000 + ((value - kFirstSurrogate) << 10) + (low - 0xDC00);
    }
    fail(begin, "half of a pair of surrogates is no character; write both");
  }

  std::uint32_t parse_class(std::size_t begin) {
    const bool negated = take("^");
    Ranges ranges;
    while (!take("]")) {
      if (at_end()) fail(begin, "this class is not closed; add \"]\"");
      if (const std::optional<Ranges> set = read_set()) {
        ranges.insert(ranges.end(), set->begin(), set->end());
        continue;
      }
      const std::size_t here = at_;
      const char32_t low = read_class_character();
      char32_t high = low;
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < text_.size()) {
        const std::size_t dash = at_++;
        if (read_set()) {
          at_ = dash;  // "[a-\d]": three things.
        } else {
          high = read_class_character();
        }
      }
      if (low > high) fail(here, "this range runs backwards; swap its ends");
      ranges.push_back({low, high});
    }
    ranges = normalised(std::move(ranges));
    if (negated) ranges = complement(ranges);
    return add_characters(ranges);
  }

  char32_t read_class_character() {
    if (peek() != '\\') return read_character();
    if (peek(1) == 'b') {
      at_ += 2;
      return '\b';
    }
    return read_escaped();
  }

  const GrammarText& source_;
  std::string_view text_;
  std::size_t at_ = 0;
  Regex regex_;
};

// Takes anchors from the ends of a tree, and fills what they leave open.
class Anchors {
 public:
  Anchors(Regex& regex, bool search, const Ranges& filler) : regex_(regex), search_(search), filler_(filler) {}

  bool remove() {
    const std::uint32_t root = regex_.root();
    std::uint32_t stripped = 0;
    if (regex_[root].kind == RegexKind::choice) {
      Node choice = {.kind = RegexKind::choice};
      for (const std::uint32_t child : std::vector(regex_[root].children)) choice.children.push_back(strip(child));
      stripped = add(std::move(choice));
    } else {
      stripped = strip(root);
    }
    if (stripped != regex_.root()) add({.kind = RegexKind::sequence, .children = {stripped}});
    return !found_elsewhere(regex_.root());
  }

 private:
  std::uint32_t add(Node node) {
    regex_.nodes.push_back(std::move(node));
    return regex_.root();
  }

  std::uint32_t fill() {
    const std::uint32_t any = add({.kind = RegexKind::characters, .ranges = filler_});
    return add({.kind = RegexKind::repeat, .most = GrammarTree::kUnbounded, .children = {any}});
  }

  std::uint32_t strip(std::uint32_t index) {
    Node sequence = {.kind = RegexKind::sequence, .children = {index}};
    if (regex_[index].kind == RegexKind::sequence) sequence.children = regex_[index].children;
    std::vector<std::uint32_t>& parts = sequence.children;
    bool begins = false;
    bool ends = false;
    while (!parts.empty() && regex_[parts.front()].kind == RegexKind::begin) {
      parts.erase(parts.begin());
      begins = true;
    }
    while (!parts.empty() && regex_[parts.back()].kind == RegexKind::end) {
      parts.pop_back();
      ends = true;
    }
    if (search_ && !begins) parts.insert(parts.begin(), fill());
    if (search_ && !ends) parts.push_back(fill());
    return add(std::move(sequence));
  }

  bool found_elsewhere(std::uint32_t index) const {
    const Node& node = regex_[index];
    if (node.kind == RegexKind::begin || node.kind == RegexKind::end) return true;
    return std::any_of(node.children.begin(), node.children.end(),
                       [this](std::uint32_t child) { return found_elsewhere(child); });
  }

  Regex& regex_;
  bool search_;
  const Ranges& filler_;
};

}  // namespace

Regex parse_regex(std::string_view text, std::string_view origin) {
  return RegexParser({.text = text, .origin = origin}).parse();
}

bool without_anchors(Regex& regex, bool search, const std::vector<CodePointRange>& filler) {
  return Anchors(regex, search, filler).remove();
}

}  // namespace semfuse
