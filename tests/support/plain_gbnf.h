// A plain reading of GBNF as the library writes it, so that PlainReader can follow a grammar that was made of a schema.
// Nothing is shared with the library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/random_grammar.h"

namespace semfuse {

class PlainGbnf {
 public:
  // The rule root comes first. What can never end is left out.
  static ReferenceGrammar read(std::string_view text) {
    PlainGbnf reader(text);
    reader.rule_of("root");
    for (reader.skip_space(true); reader.at_ < text.size(); reader.skip_space(true)) {
      const std::size_t rule = reader.rule_of(reader.name());
      reader.skip_space(false);
      if (!reader.take("::=")) reader.fail();
      reader.grammar_.rules[rule] = reader.choice(false);
    }
    reader.drop_what_never_ends();
    return std::move(reader.grammar_);
  }

 private:
  using Expression = ReferenceExpression;
  struct Range {
    std::uint32_t low;
    std::uint32_t high;
  };

  explicit PlainGbnf(std::string_view text) : text_(text) {}

  [[noreturn]] void fail() const { throw std::runtime_error("plain GBNF: " + std::string(text_.substr(at_, 30))); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void skip_space(bool lines) {
    while (peek() == ' ' || (lines && peek() == '\n')) ++at_;
  }
  static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  }
  std::string name() {
    const std::size_t begin = at_;
    while (is_name(peek())) ++at_;
    if (at_ == begin) fail();
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::size_t rule_of(const std::string& name) {
    const auto [found, added] = rules_.emplace(name, grammar_.rules.size());
    if (added) grammar_.rules.emplace_back();
    return found->second;
  }

  static Expression of(Expression::Kind kind, std::vector<Expression> parts = {}, std::string bytes = {}) {
    return {.kind = kind, .bytes = std::move(bytes), .parts = std::move(parts)};
  }

  Expression choice(bool in_group) {
    Expression all = of(Expression::choice, {sequence(in_group)});
    while (take("|")) all.parts.push_back(sequence(in_group));
    return all;
  }

  Expression sequence(bool in_group) {
    Expression all = of(Expression::sequence);
    for (skip_space(in_group); is_name(peek()) || peek() == '"' || peek() == '[' || peek() == '('; skip_space(in_group))
      all.parts.push_back(repeated(item()));
    return all;
  }

  Expression item() {
    if (take("(")) {
      Expression inside = choice(true);
      if (!take(")")) fail();
      return inside;
    }
    if (take("\"")) {
      Expression literal = of(Expression::literal);
      while (!take("\"")) append(literal.bytes, character());
      return literal;
    }
    if (take("[")) return characters();
    Expression reference = of(Expression::reference);
    reference.rule = rule_of(name());
    return reference;
  }

  Expression repeated(Expression what) {
    Expression repeat = of(Expression::repeat, {std::move(what)});
    if (take("*")) return repeat;
    if (take("+")) {
      repeat.least = 1;
      return repeat;
    }
    if (take("?")) {
      repeat.most = 1;
      return repeat;
    }
    if (!take("{")) return std::move(repeat.parts[0]);
    repeat.least = repeat.most = number();
    if (take(",")) repeat.most = peek() == '}' ? 0 : number();
    if (!take("}")) fail();
    if (repeat.most == 0 && repeat.least == 0 && text_[at_ - 2] == '0') return of(Expression::sequence);
    return repeat;
  }

  std::size_t number() {
    std::size_t value = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) value = value * 10 + static_cast<std::size_t>(peek() - '0');
    return value;
  }

  // One character, escaped or not.
  std::uint32_t character() {
    if (take("\\")) {
      const char kind = peek();
      ++at_;
      const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
      if (digits == 0)
        return kind == 'n' ? '\n' : kind == 'r' ? '\r' : kind == 't' ? '\t' : static_cast<unsigned>(kind);
      at_ += digits;
      return static_cast<std::uint32_t>(std::stoul(std::string(text_.substr(at_ - digits, digits)), nullptr, 16));
    }
    const auto lead = static_cast<unsigned char>(peek());
    ++at_;
    if (lead < 0x80) return lead;
    int left = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t code = lead & (0x3Fu >> left);
    for (; left > 0; --left, ++at_) code = code << 6 | (static_cast<unsigned char>(peek()) & 0x3Fu);
    return code;
  }

  static void append(std::string& bytes, std::uint32_t code) {
    if (code < 0x80) {
      bytes.push_back(static_cast<char>(code));
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    bytes.push_back(static_cast<char>((more == 1 ? 0xC0u : more == 2 ? 0xE0u : 0xF0u) | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) bytes.push_back(static_cast<char>(0x80u | (code >> (6 * i) & 0x3F)));
  }

  Expression characters() {
    const bool negated = take("^");
    std::vector<Range> ranges;
    while (!take("]")) {
      const std::uint32_t low = character();
      const bool is_range = peek() == '-' && text_[at_ + 1] != ']';
      if (is_range) ++at_;
      ranges.push_back({low, is_range ? character() : low});
    }
    // Cut points, between which all is in or all is out; what is no character is out.
    std::vector<Range> in;
    std::vector<std::uint32_t> cuts = {0, 0x80, 0x800, 0xD800, 0xE000, 0x10000, 0x110000};
    for (const Range& range : ranges) cuts.insert(cuts.end(), {range.low, range.high + 1});
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
      if (cuts[i] == cuts[i + 1] || cuts[i] == 0xD800 || (cuts[i] > 0xD800 && cuts[i] < 0xE000)) continue;
      const bool named = std::any_of(ranges.begin(), ranges.end(),
                                     [&](const Range& r) { return r.low <= cuts[i] && cuts[i] <= r.high; });
      if (named != negated) in.push_back({cuts[i], cuts[i + 1] - 1});
    }
    Expression all = of(Expression::choice);
    all.parts.push_back(bytes_of(in, 0, 0x80, 0, 0));
    all.parts.push_back(bytes_of(in, 0x80, 0x800, 1, 0xC0));
    all.parts.push_back(bytes_of(in, 0x800, 0x10000, 2, 0xE0));
    all.parts.push_back(bytes_of(in, 0x10000, 0x110000, 3, 0xF0));
    return all;
  }

  // Characters of [first, last) that are in the class, as a byte with `more` behind it; its high bits are `mark`.
  static Expression bytes_of(const std::vector<Range>& in, std::uint32_t first, std::uint32_t last, int more,
                             std::uint32_t mark) {
    Expression all = of(Expression::choice);
    Expression whole = of(Expression::characters);  // Bytes behind which everything is in.
    const std::uint32_t step = std::uint32_t{1} << (6 * more);
    const std::uint32_t origin = mark == 0x80 ? first / (64 * step) * (64 * step) : 0;
    for (std::uint32_t begin = first / step * step; begin < last; begin += step) {
      std::uint32_t num_in = 0;
      for (const Range& range : in) {
        const std::uint32_t low = std::max({range.low, begin, first});
        const std::uint32_t high = std::min({range.high + 1, begin + step, last});
        if (low < high) num_in += high - low;
      }
      const auto byte = static_cast<char>(mark | (begin - origin) / step);
      if (num_in == step) {
        whole.bytes.push_back(byte);
      } else if (num_in > 0) {
        Expression rest = bytes_of(in, std::max(begin, first), std::min(begin + step, last), more - 1, 0x80);
        all.parts.push_back(of(Expression::sequence, {of(Expression::literal, {}, std::string(1, byte)), rest}));
      }
    }
    if (whole.bytes.empty()) return all;
    Expression sequence = of(Expression::sequence, {whole});
    for (int i = 0; i < more; ++i) {
      Expression any = of(Expression::characters);
      for (int byte = 0x80; byte < 0xC0; ++byte) any.bytes.push_back(static_cast<char>(byte));
      sequence.parts.push_back(any);
    }
    all.parts.push_back(sequence);
    return all;
  }

  void drop_what_never_ends() {
    std::vector<bool> ends(grammar_.rules.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = 0; r < ends.size(); ++r) {
        if (ends[r] || !can_end(grammar_.rules[r], ends)) continue;
        ends[r] = changed = true;
      }
    }
    for (std::size_t r = 0; r < ends.size(); ++r) {
      drop(grammar_.rules[r], ends);
      if (!ends[r]) grammar_.rules[r] = of(Expression::sequence);  // Nothing calls it any more.
    }
  }

  static bool can_end(const Expression& e, const std::vector<bool>& ends) {
    const auto one = [&](const Expression& part) { return can_end(part, ends); };
    switch (e.kind) {
      case Expression::reference:
        return ends[e.rule];
      case Expression::sequence:
        return std::all_of(e.parts.begin(), e.parts.end(), one);
      case Expression::choice:
        return std::any_of(e.parts.begin(), e.parts.end(), one);
      case Expression::repeat:
        return e.least == 0 || one(e.parts[0]);
      default:
        return true;
    }
  }

  static void drop(Expression& e, const std::vector<bool>& ends) {
    if (!can_end(e, ends)) {
      e = of(Expression::choice);
      return;
    }
    if (e.kind == Expression::repeat && !can_end(e.parts[0], ends)) {
      e = of(Expression::sequence);
      return;
    }
    if (e.kind == Expression::choice) std::erase_if(e.parts, [&](const Expression& p) { return !can_end(p, ends); });
    for (Expression& part : e.parts) drop(part, ends);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ReferenceGrammar grammar_;
  std::map<std::string, std::size_t> rules_;
};

}  // namespace semfuse
