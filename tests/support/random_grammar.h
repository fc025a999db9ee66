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
  std::size_t setting = 0;  // reference: what it sets the knob k to; 0: nothing.
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
        text = name(e.rule);
        if (e.setting > 0) text.append("[k=").append(std::to_string(e.setting)).append("]");
        return text;
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

  // The same without settings, where every letter has what is set there before it: "a" becomes "2a" where k is 2.
  ReferenceGrammar spelled_out(std::size_t num_settings) const {
    ReferenceGrammar result;
    for (std::size_t r = 0; r < rules.size(); ++r) {
      for (std::size_t s = 0; s <= num_settings; ++s) result.rules.push_back(spell_out(rules[r], s, num_settings));
    }
    return result;
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
  static ReferenceExpression spell_out(ReferenceExpression e, std::size_t setting, std::size_t num_settings) {
    const auto spelled = [&](char letter) { return std::to_string(setting).append(1, letter); };
    if (e.kind == ReferenceExpression::reference) {
      e.rule = e.rule * (num_settings + 1) + (e.setting > 0 ? e.setting : setting);
      e.setting = 0;
    } else if (e.kind == ReferenceExpression::literal) {
      std::string bytes;
      for (const char letter : e.bytes) bytes += spelled(letter);
      e.bytes = bytes;
    } else if (e.kind == ReferenceExpression::characters) {
      e.kind = ReferenceExpression::choice;
      for (const char letter : e.bytes)
        e.parts.push_back({.kind = ReferenceExpression::literal, .bytes = spelled(letter), .parts = {}});
    } else {
      for (ReferenceExpression& part : e.parts) part = spell_out(std::move(part), setting, num_settings);
    }
    return e;
  }

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

inline void add_settings(ReferenceExpression& e, RandomStream& random, std::size_t num_settings) {
  if (e.kind == ReferenceExpression::reference) e.setting = random.next_below(num_settings + 1);
  for (ReferenceExpression& part : e.parts) add_settings(part, random, num_settings);
}

inline ReferenceGrammar random_grammar(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out, 77);
  ReferenceGrammar grammar;
  const std::size_t num_rules = 1 + random.next_below(4);
  for (std::size_t r = 0; r < num_rules; ++r) grammar.rules.push_back(random_expression(random, num_rules, 3));
  return grammar;
}

}  // namespace semfuse
