// A plain recogniser of beginnings: every way to read a text, side by side, with all that is still to come written
// down.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/random_grammar.h"

namespace semfuse {

class PlainReader {
 public:
  // What is still to be read, from its first part on; parts are numbered, 0 is nothing.
  using Ways = std::set<std::size_t>;

  explicit PlainReader(const ReferenceGrammar& grammar) : grammar_(grammar) {}

  // False if the grammar has rules without an end, or calls a rule at its beginning without end, as far as that was
  // met: then no answer is right.
  bool is_plain() const {
    return !too_deep_ && std::all_of(grammar_.rules.begin(), grammar_.rules.end(),
                                     [this](const ReferenceExpression& rule) { return ends(rule, 0); });
  }

  Ways begin() {
    Ways ways;
    follow(add(grammar_.rules[0], 0, 0), 0, ways);
    return ways;
  }

  // A beginning of a sentence leaves a way.
  Ways read(const Ways& from, std::string_view text) {
    Ways ways = from;
    for (const char c : text) {
      Ways next;
      for (const std::size_t way : ways) {
        if (way == 0) continue;
        const Part part = parts_[way];
        const ReferenceExpression& e = *part.expression;
        if (e.kind == ReferenceExpression::characters) {
          if (e.bytes.find(c) != std::string::npos) follow(part.next, 0, next);
        } else if (e.bytes[part.done] == c) {
          follow(part.done + 1 == e.bytes.size() ? part.next : add(e, part.done + 1, part.next), 0, next);
        }
      }
      ways = std::move(next);
    }
    return ways;
  }

  static bool is_sentence(const Ways& ways) { return ways.contains(0); }

 private:
  struct Part {
    const ReferenceExpression* expression;
    std::size_t done;  // Letters, parts or times.
    std::size_t next;
  };

  std::size_t add(const ReferenceExpression& e, std::size_t done, std::size_t next) {
    const auto [found, added] = ids_.emplace(std::tuple(&e, done, next), parts_.size());
    if (added) parts_.push_back({&e, done, next});
    return found->second;
  }

  // Adds the ways that begin with a letter.
  void follow(std::size_t way, int depth, Ways& ways) {
    if (way == 0) ways.insert(way);
    if (way == 0 || too_deep_) return;
    if (depth > kMostDepth) {
      too_deep_ = true;
      return;
    }
    const Part part = parts_[way];
    const ReferenceExpression& e = *part.expression;
    switch (e.kind) {
      case ReferenceExpression::literal:
        e.bytes.empty() ? follow(part.next, depth + 1, ways) : static_cast<void>(ways.insert(way));
        break;
      case ReferenceExpression::characters:
        ways.insert(way);
        break;
      case ReferenceExpression::reference:
        follow(add(grammar_.rules[e.rule], 0, part.next), depth + 1, ways);
        break;
      case ReferenceExpression::choice:
        for (const ReferenceExpression& one : e.parts) follow(add(one, 0, part.next), depth + 1, ways);
        break;
      case ReferenceExpression::sequence: {
        if (part.done == e.parts.size()) {
          follow(part.next, depth + 1, ways);
        } else {
          follow(add(e.parts[part.done], 0, add(e, part.done + 1, part.next)), depth + 1, ways);
        }
        break;
      }
      case ReferenceExpression::repeat:
        if (part.done >= e.least) follow(part.next, depth + 1, ways);
        if (e.most == 0 || part.done < e.most) {
          const std::size_t done = e.most == 0 ? std::min(part.done + 1, e.least) : part.done + 1;
          follow(add(e.parts[0], 0, add(e, done, part.next)), depth + 1, ways);
        }
        break;
    }
  }

  // Whether it has an end within so many calls: enough for all rules of a small grammar.
  bool ends(const ReferenceExpression& e, std::size_t calls) const {
    const auto one_ends = [&](const ReferenceExpression& part) { return ends(part, calls); };
    switch (e.kind) {
      case ReferenceExpression::reference:
        return calls < grammar_.rules.size() && ends(grammar_.rules[e.rule], calls + 1);
      case ReferenceExpression::choice:
        return std::any_of(e.parts.begin(), e.parts.end(), one_ends);
      case ReferenceExpression::sequence:
        return std::all_of(e.parts.begin(), e.parts.end(), one_ends);
      case ReferenceExpression::repeat:
        return e.least == 0 || one_ends(e.parts[0]);
      default:
        return true;
    }
  }

  static constexpr int kMostDepth = 200;

  const ReferenceGrammar& grammar_;
  std::vector<Part> parts_ = {{nullptr, 0, 0}};
  std::map<std::tuple<const ReferenceExpression*, std::size_t, std::size_t>, std::size_t> ids_;
  bool too_deep_ = false;
};

}  // namespace semfuse
