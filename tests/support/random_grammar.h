// Random grammars over a few letters, and a plain recogniser to compare with.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/random.h"

namespace semfuse {

// A tree of its own, so that nothing is shared with the library.
struct ReferenceExpression {
  enum Kind { literal, characters, reference, sequence, choice, repeat } kind = literal;
  std::string bytes;  // literal: the text; characters: each allowed byte.
  std::size_t rule = 0;
  std::size_t least = 0;
  std::size_t most = 0;  // 0: any number.
  std::vector<ReferenceExpression> parts;
};

struct ReferenceGrammar {
  std::vector<ReferenceExpression> rules;  // The first is root.

  std::string gbnf() const {
    std::string text;
    for (std::size_t r = 0; r < rules.size(); ++r)
      text.append(name(r)).append(" ::= ").append(print(rules[r])).append("\n");
    return text;
  }

  static std::string name(std::size_t rule) {
    return rule == 0 ? "root" : std::string("r").append(std::to_string(rule));
  }

  static std::string print(const ReferenceExpression& e) {
    std::string text;
    switch (e.kind) {
      case ReferenceExpression::literal:
        return text.append("\"").append(e.bytes).append("\"");
      case ReferenceExpression::characters:
        return text.append("[").append(e.bytes).append("]");
      case ReferenceExpression::reference:
        return name(e.rule);
      case ReferenceExpression::sequence:
      case ReferenceExpression::choice:
        for (std::size_t i = 0; i < e.parts.size(); ++i) {
          if (i > 0) text.append(e.kind == ReferenceExpression::choice ? " | " : " ");
          text.append(print(e.parts[i]));
        }
        return std::string("(").append(text).append(")");
      case ReferenceExpression::repeat: {
        text = std::string("(").append(print(e.parts[0])).append(")");
        text.append("{").append(std::to_string(e.least)).append(",");
        if (e.most > 0) text.append(std::to_string(e.most));
        return text.append("}");
      }
    }
    return text;
  }

  // The ends of all texts from `begin` on that a rule reads, for every rule: the least sets that satisfy the rules, by
  // repeating until nothing is added.
  bool accepts(std::string_view text) const {
    std::vector<std::vector<std::set<std::size_t>>> ends(rules.size(),
                                                         std::vector<std::set<std::size_t>>(text.size() + 1));
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t r = 0; r < rules.size(); ++r) {
        for (std::size_t begin = 0; begin <= text.size(); ++begin) {
          std::set<std::size_t> found = read(rules[r], text, begin, ends);
          if (found == ends[r][begin]) continue;
          ends[r][begin] = std::move(found);
          changed = true;
        }
      }
    }
    return ends[0][0].contains(text.size());
  }

 private:
  using Ends = std::vector<std::vector<std::set<std::size_t>>>;
  static std::set<std::size_t> read(const ReferenceExpression& e, std::string_view text, std::size_t begin,
                                    const Ends& ends) {
    switch (e.kind) {
      case ReferenceExpression::literal:
        if (text.substr(begin).starts_with(e.bytes)) return {begin + e.bytes.size()};
        return {};
      case ReferenceExpression::characters:
        if (begin < text.size() && e.bytes.find(text[begin]) != std::string::npos) return {begin + 1};
        return {};
      case ReferenceExpression::reference:
        return ends[e.rule][begin];
      case ReferenceExpression::choice: {
        std::set<std::size_t> all;
        for (const ReferenceExpression& part : e.parts) all.merge(read(part, text, begin, ends));
        return all;
      }
      case ReferenceExpression::sequence: {
        std::set<std::size_t> at = {begin};
        for (const ReferenceExpression& part : e.parts) at = read_all(part, text, at, ends);
        return at;
      }
      case ReferenceExpression::repeat: {
        std::set<std::size_t> at = {begin};
        for (std::size_t i = 0; i < e.least; ++i) at = read_all(e.parts[0], text, at, ends);
        std::set<std::size_t> all = at;
        // More rounds than letters bring nothing new: an empty round can be left out.
        const std::size_t rounds = e.most > 0 ? e.most - e.least : text.size() + 1;
        for (std::size_t i = 0; i < rounds; ++i) {
          at = read_all(e.parts[0], text, at, ends);
          all.insert(at.begin(), at.end());
        }
        return all;
      }
    }
    return {};
  }

  static std::set<std::size_t> read_all(const ReferenceExpression& e, std::string_view text,
                                        const std::set<std::size_t>& begins, const Ends& ends) {
    std::set<std::size_t> all;
    for (const std::size_t begin : begins) all.merge(read(e, text, begin, ends));
    return all;
  }
};

inline ReferenceExpression random_expression(RandomStream& random, std::size_t num_rules, int depth) {
  ReferenceExpression e;
  const std::uint64_t kind = random.next_below(depth <= 0 ? 5 : 10);
  if (kind < 2) {
    e.kind = ReferenceExpression::literal;
    const std::uint64_t length = random.next_below(8) == 0 ? 0 : 1 + random.next_below(2);
    for (std::uint64_t i = 0; i < length; ++i) e.bytes.push_back(static_cast<char>('a' + random.next_below(3)));
  } else if (kind == 2) {
    e.kind = ReferenceExpression::characters;
    for (char c = 'a'; c <= 'c'; ++c) {
      if (random.next_below(2) == 0) e.bytes.push_back(c);
    }
    if (e.bytes.empty()) e.bytes = "b";
  } else if (kind < 5) {
    e.kind = ReferenceExpression::reference;
    e.rule = random.next_below(num_rules);
  } else if (kind < 9) {
    e.kind = kind < 7 ? ReferenceExpression::sequence : ReferenceExpression::choice;
    const std::uint64_t length = 1 + random.next_below(3);
    for (std::uint64_t i = 0; i < length; ++i) e.parts.push_back(random_expression(random, num_rules, depth - 1));
  } else {
    e.kind = ReferenceExpression::repeat;
    e.least = random.next_below(3);
    e.most = random.next_below(2) == 0 ? 0 : e.least + 1 + random.next_below(2);
    e.parts.push_back(random_expression(random, num_rules, depth - 1));
  }
  return e;
}

inline ReferenceGrammar random_grammar(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out, 77);
  ReferenceGrammar grammar;
  const std::size_t num_rules = 1 + random.next_below(4);
  for (std::size_t r = 0; r < num_rules; ++r) grammar.rules.push_back(random_expression(random, num_rules, 3));
  return grammar;
}

}  // namespace semfuse
