#include "grammar/minimise.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "grammar/hash_words.h"

namespace semfuse {
namespace {

using RuleState = RuleAutomaton::State;

// The state with edges to classes of states.
RuleState with_targets(const RuleState& state, const std::vector<std::uint32_t>& class_of) {
  RuleState result;
  result.accepting = state.accepting;
  for (RuleAutomaton::ByteEdge edge : state.bytes) {
    edge.target = class_of[edge.target];
    if (!result.bytes.empty() && edge.continues(result.bytes.back())) {
      result.bytes.back().high = edge.high;
    } else {
      result.bytes.push_back(edge);
    }
  }
  for (const RuleAutomaton::CallEdge& edge : state.calls) result.calls.push_back({edge.rule, class_of[edge.target]});
  return result;
}

// Classes of states that were the same so far are split when what follows some of them was split. The largest part
// keeps the class's number, so that a state is given a new one, and those before it are looked at again, only a
// logarithmic number of times (Hopcroft's bound), on long chains once.
class Partition {
 public:
  explicit Partition(const RuleAutomaton& automaton)
      : automaton_(automaton), size_(automaton.states.size()), class_of_(size_), place_(size_), marked_(size_) {
    before_first_.assign(size_ + 1, 0);
    each_edge([&](std::uint32_t, std::uint32_t target) { ++before_first_[target + 1]; });
    for (std::size_t s = 0; s < size_; ++s) before_first_[s + 1] += before_first_[s];
    before_.resize(before_first_[size_]);
    std::vector<std::uint32_t> next(before_first_.begin(), before_first_.end() - 1);
    each_edge([&](std::uint32_t from, std::uint32_t target) { before_[next[target]++] = from; });
    elements_.resize(size_);
    for (std::uint32_t s = 0; s < size_; ++s) elements_[s] = place_[s] = s;
    classes_.push_back({.begin = 0, .end = static_cast<std::uint32_t>(size_)});
    for (std::uint32_t s = 0; s < size_; ++s) mark(s);
  }

  std::vector<std::uint32_t> run() {
    while (!open_.empty()) {
      const std::uint32_t index = open_.back();
      open_.pop_back();
      split(index);
    }
    return class_of_;
  }

 private:
  struct Class {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t num_marked = 0;  // To be looked at again; they stand first.
  };

  template <typename Visit>
  void each_edge(Visit visit) const {
    for (std::uint32_t s = 0; s < size_; ++s) {
      for (const auto& edge : automaton_.states[s].bytes) visit(s, edge.target);
      for (const auto& edge : automaton_.states[s].calls) visit(s, edge.target);
    }
  }

  void mark(std::uint32_t state) {
    if (marked_[state]) return;
    marked_[state] = true;
    Class& group = classes_[class_of_[state]];
    if (group.num_marked == 0) open_.push_back(class_of_[state]);
    const std::uint32_t to = group.begin + group.num_marked++;
    const std::uint32_t other = elements_[to];
    std::swap(elements_[to], elements_[place_[state]]);
    place_[other] = place_[state];
    place_[state] = to;
  }

  std::vector<std::uint32_t> signature(std::uint32_t index) const {
    std::vector<std::uint32_t> words;
    write_signature(index, words);
    return words;
  }

  // What with_targets() would make of the state, as words.
  void write_signature(std::uint32_t index, std::vector<std::uint32_t>& words) const {
    const RuleState& state = automaton_.states[index];
    words.clear();
    words.reserve(2 + 3 * state.bytes.size() + 2 * state.calls.size());
    words.push_back(state.accepting ? 1u : 0u);
    const RuleAutomaton::ByteEdge* last = nullptr;
    for (const RuleAutomaton::ByteEdge& edge : state.bytes) {
      const std::uint32_t target = class_of_[edge.target];
      const bool joins = last != nullptr && last->high + 1 == edge.low && last->contexts == edge.contexts &&
                         words[words.size() - 2] == target;
      if (joins) {
        words[words.size() - 3] = (words[words.size() - 3] & 0xFF00) | edge.high;
      } else {
        words.insert(words.end(), {static_cast<std::uint32_t>(edge.low) << 8 | edge.high, target, edge.contexts});
      }
      last = &edge;
    }
    words.push_back(0xFFFFFFFF);  // No edge of bytes begins so.
    for (const RuleAutomaton::CallEdge& edge : state.calls)
      words.insert(words.end(), {edge.rule, class_of_[edge.target]});
  }

  // One state may differ from the rest of its class: the case of long chains.
  bool is_like_the_rest(const Class& group) {
    marked_[elements_[group.begin]] = false;
    write_signature(elements_[group.begin], one_);
    write_signature(elements_[group.begin + 1], other_);
    return one_ == other_;
  }

  void split_off_first(std::uint32_t index) {
    const std::uint32_t state = elements_[classes_[index].begin++];
    class_of_[state] = static_cast<std::uint32_t>(classes_.size());
    classes_.push_back({.begin = place_[state], .end = place_[state] + 1});
    for (std::uint32_t e = before_first_[state]; e < before_first_[state + 1]; ++e) mark(before_[e]);
  }

  void split(std::uint32_t index) {
    const Class group = classes_[index];
    if (group.num_marked == 1 && group.end - group.begin > 1) {
      classes_[index].num_marked = 0;
      if (!is_like_the_rest(group)) split_off_first(index);
      return;
    }
    const std::uint32_t end_marked = group.begin + group.num_marked;
    std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, HashWords> part_of;
    std::vector<std::vector<std::uint32_t>> parts;
    // Those that are not marked are still all alike.
    const bool has_rest = end_marked < group.end;
    if (has_rest) {
      part_of.emplace(signature(elements_[end_marked]), 0);
      parts.emplace_back();
    }
    for (std::uint32_t i = group.begin; i < end_marked; ++i) {
      const std::uint32_t state = elements_[i];
      marked_[state] = false;
      const auto [found, added] = part_of.emplace(signature(state), static_cast<std::uint32_t>(parts.size()));
      if (added) parts.emplace_back();
      parts[found->second].push_back(state);
    }
    classes_[index].num_marked = 0;
    if (parts.size() == 1) return;
    const std::uint32_t num_rest = group.end - end_marked;
    std::size_t largest = 0;
    const auto size_of = [&](std::size_t p) { return parts[p].size() + (has_rest && p == 0 ? num_rest : 0); };
    for (std::size_t p = 1; p < parts.size(); ++p) {
      if (size_of(p) > size_of(largest)) largest = p;
    }
    // The rest moves only if it is not the part that keeps the number; what moves is never the largest.
    const bool rest_stays = has_rest && largest == 0;
    if (has_rest && !rest_stays)
      parts[0].insert(parts[0].end(), elements_.begin() + end_marked, elements_.begin() + group.end);
    // The part that keeps the number stands last.
    std::swap(parts[largest], parts.back());
    std::uint32_t at = group.begin;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const bool keeps = p + 1 == parts.size();
      const std::uint32_t id = keeps ? index : static_cast<std::uint32_t>(classes_.size());
      const std::uint32_t begin = at;
      for (const std::uint32_t state : parts[p]) {
        elements_[at] = state;
        place_[state] = at++;
        class_of_[state] = id;
      }
      if (keeps) {
        classes_[index] = {.begin = begin, .end = group.end};
      } else {
        classes_.push_back({.begin = begin, .end = at});
      }
    }
    for (std::size_t p = 0; p + 1 < parts.size(); ++p) {
      for (const std::uint32_t state : parts[p]) {
        for (std::uint32_t e = before_first_[state]; e < before_first_[state + 1]; ++e) mark(before_[e]);
      }
    }
  }

  const RuleAutomaton& automaton_;
  std::size_t size_;
  std::vector<std::uint32_t> class_of_;
  std::vector<std::uint32_t> elements_;  // States, those of a class together.
  std::vector<std::uint32_t> place_;     // Of each state there.
  std::vector<bool> marked_;
  std::vector<Class> classes_;
  std::vector<std::uint32_t> open_;  // Classes with marked states.
  std::vector<std::uint32_t> one_;   // Signatures, for their memory.
  std::vector<std::uint32_t> other_;
  std::vector<std::uint32_t> before_first_;
  std::vector<std::uint32_t> before_;  // Sources of the edges into each state.
};

}  // namespace

RuleAutomaton minimise(const RuleAutomaton& automaton) {
  std::vector<std::uint32_t> class_of = Partition(automaton).run();
  // Numbered as they first appear, so the start stays 0.
  constexpr std::uint32_t kNone = 0xFFFFFFFF;
  std::vector<std::uint32_t> number(class_of.size(), kNone);
  std::vector<std::uint32_t> first;
  for (std::uint32_t s = 0; s < class_of.size(); ++s) {
    std::uint32_t& id = number[class_of[s]];
    if (id == kNone) {
      id = static_cast<std::uint32_t>(first.size());
      first.push_back(s);
    }
    class_of[s] = id;
  }
  RuleAutomaton joined;
  joined.states.reserve(first.size());
  for (const std::uint32_t s : first) joined.states.push_back(with_targets(automaton.states[s], class_of));
  return joined;
}

}  // namespace semfuse
