#include "grammar/completion.h"

#include <algorithm>

namespace semfuse {
namespace {

constexpr std::size_t kMostCompletionWork = 4'000'000;

}  // namespace

Completion::Completion(const Automaton& automaton, const TokenTrie& first, const TokenTrie& later)
    : automaton_(automaton),
      first_(first),
      later_(later),
      begin_(&first == &later ? kBoundary : static_cast<Place>(later.size())) {
  demand(automaton.root(), begin_);
  solve(kMostCompletionWork);
  for (auto& [state, places] : places_) std::sort(places.begin(), places.end());
}

std::span<const Completion::Place> Completion::ends(StateId state, Place place) const {
  const auto found = index_.find(std::uint64_t{state} << 32 | place);
  if (found == index_.end()) return {};
  return pairs_[found->second].ends;
}

std::span<const Completion::Place> Completion::places(StateId state) const {
  const auto found = places_.find(state);
  if (found == places_.end()) return {};
  return found->second;
}

void Completion::solve(std::size_t most_work) {
  while (!unexpanded_.empty() || !news_.empty()) {
    if (++work_ > most_work) return;
    if (!news_.empty()) {
      const auto [pair, end] = news_.back();
      news_.pop_back();
      // The list may grow while it is read; who comes later is told by wait().
      for (std::size_t i = 0; i < pairs_[pair].waiters.size(); ++i) tell(Waiter(pairs_[pair].waiters[i]), end);
      continue;
    }
    const std::uint32_t pair = unexpanded_.back();
    unexpanded_.pop_back();
    expand(pair);
  }
  finished_ = true;
}

std::uint32_t Completion::demand(StateId state, Place place) {
  const auto [found, added] =
      index_.emplace(std::uint64_t{state} << 32 | place, static_cast<std::uint32_t>(pairs_.size()));
  if (added) {
    pairs_.push_back({.state = state, .place = place});
    places_[state].push_back(place);
    unexpanded_.push_back(found->second);
  }
  return found->second;
}

void Completion::wait(std::uint32_t pair, Waiter waiter) {
  ++work_;
  pairs_[pair].waiters.push_back(waiter);
  const std::vector<Place> ends = pairs_[pair].ends;
  for (const Place end : ends) tell(waiter, end);
}

void Completion::tell(const Waiter& waiter, Place end) {
  ++work_;
  if (waiter.returns) {
    wait(demand(waiter.target, end), {.pair = waiter.pair, .target = 0, .returns = false});
  } else {
    add_end(waiter.pair, end);
  }
}

void Completion::add_end(std::uint32_t pair, Place end) {
  std::vector<Place>& ends = pairs_[pair].ends;
  const auto at = std::lower_bound(ends.begin(), ends.end(), end);
  if (at != ends.end() && *at == end) return;
  ends.insert(at, end);
  news_.emplace_back(pair, end);
}

void Completion::expand(std::uint32_t pair) {
  const StateId state_id = pairs_[pair].state;
  const Place place = pairs_[pair].place;
  const auto [state, shift, exit] = automaton_[state_id];
  const Waiter same_end = {.pair = pair, .target = 0, .returns = false};
  if (state.accepting) add_end(pair, place);
  for (const StateId target : state.empty) wait(demand(target + shift, place), same_end);
  if (exit != Automaton::kNone) wait(demand(exit, place), same_end);
  for (const Automaton::CallEdge& call : state.calls) {
    wait(demand(call.start, place), {.pair = pair, .target = call.target + shift, .returns = true});
  }
  const bool in_first = place >= later_.size();
  const TokenTrie& trie = in_first ? first_ : later_;
  const Place offset = in_first ? static_cast<Place>(later_.size()) : 0;
  const std::uint32_t node = place - offset;
  for (std::uint32_t child = trie[node].first_child; child < trie.end_of_children(node); ++child) {
    ++work_;
    for (const Automaton::ByteEdge& edge : state.bytes) {
      if (trie[child].byte() < edge.low || trie[child].byte() > edge.high) continue;
      if (!trie.is_leaf(child)) wait(demand(edge.target + shift, offset + child), same_end);
      if (!trie.tokens(child).empty()) wait(demand(edge.target + shift, kBoundary), same_end);
    }
  }
}

bool intersect(std::span<const Completion::Place> a, std::span<const Completion::Place> b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i] == b[j]) return true;
    a[i] < b[j] ? ++i : ++j;
  }
  return false;
}

}  // namespace semfuse
