#include "grammar/closure_builder.h"

#include <algorithm>
#include <bit>

#include "grammar/strong_components.h"
#include "semfuse/error.h"

namespace semfuse {

void sort_unique(std::vector<Configurations::Item>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

void check_number_of_items(std::size_t number) {
  constexpr std::size_t kMostItems = 50'000;
  if (number > kMostItems)
    throw Error("grammar: the text can be read in too many ways at once; make the grammar less ambiguous");
}

Configurations::Closure Configurations::ClosureBuilder::build(std::span<const Item> items) {
  clear();
  for (const Item& item : items) add(item);
  for (std::size_t i = 0; i < items_.size(); ++i) expand(items_[i]);
  return finish();
}

void Configurations::ClosureBuilder::clear() {
  items_.clear();
  covered_.clear();
  seen_.clear();
  num_calls_ = 0;
  if (!call_of_.empty()) call_of_.clear();
  returned_.clear();
  num_returns_ = 0;
  accepting_ = false;
}

void Configurations::ClosureBuilder::add(Item item, bool covered) {
  ++table_.work_;
  if (!seen_.insert(std::uint64_t{item.state} << 32 | item.stack)) return;
  items_.push_back(item);
  covered_.push_back(covered ? 1 : 0);
  check_number_of_items(items_.size());
}

void Configurations::ClosureBuilder::expand(Item item) {
  const auto [state, offset, exit] = automaton_[item.state];
  for (const StateId target : state.empty) add({target + offset, item.stack}, true);
  if (exit != Automaton::kNone) add({exit, item.stack}, true);
  if (state.accepting) return_from(item.stack);
  for (const Automaton::CallEdge& edge : state.calls) {
    const Item target = {edge.target + offset, item.stack};
    Call& call = calls_[call_of(edge.start)];
    call.returns.push_back(target);
    check_number_of_items(++num_returns_);
    if (call.returned) add(target, true);
  }
}

// The call of a rule, made if this is the first.
std::uint32_t Configurations::ClosureBuilder::call_of(StateId start) {
  constexpr std::uint32_t kFew = 16;
  if (num_calls_ <= kFew) {
    for (std::uint32_t c = 0; c < num_calls_; ++c) {
      if (calls_[c].start == start) return c;
    }
  } else if (const auto found = call_of_.find(start); found != call_of_.end()) {
    return found->second;
  }
  const std::uint32_t call = num_calls_++;
  if (call == calls_.size()) calls_.emplace_back();
  calls_[call].start = start;
  calls_[call].returns.clear();
  calls_[call].returned = false;
  if (num_calls_ > kFew) {
    for (std::uint32_t c = num_calls_ == kFew + 1 ? 0 : call; c < num_calls_; ++c) call_of_.emplace(calls_[c].start, c);
  }
  add({start, kGroup + call});
  return call;
}

void Configurations::ClosureBuilder::return_from(StackId stack) {
  if (stack == kBottom) {
    accepting_ = true;
  } else if (is_new(stack)) {
    Call& call = calls_[stack - kGroup];
    if (call.returned) return;
    call.returned = true;
    for (const Item& item : call.returns) add(item, true);
  } else if (returned_.insert(stack)) {
    for (const Item& item : table_.returns_[stack]) add(item);
  }
}

Configurations::Closure Configurations::ClosureBuilder::finish() {
  intern_calls();
  Closure closure;
  closure.accepting = accepting_;
  readers_.clear();
  outer_.clear();
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item item = items_[i];
    const auto [state, offset, exit] = automaton_[item.state];
    const bool reads = !state.bytes.empty();
    if (reads) readers_.push_back({item.state, is_new(item.stack) ? ids_[item.stack - kGroup] : item.stack});
    const bool goes_on = reads || !state.calls.empty() || !state.empty.empty() || exit != Automaton::kNone;
    if (!is_new(item.stack) && covered_[i] == 0 && goes_on) outer_.push_back(item);
  }
  sort_unique(readers_);
  for (const Item& item : readers_) {
    const StateRun run = automaton_.run(item.state);
    if (run.length > closure.run.length ||
        (run.length == closure.run.length && std::popcount(run.groups) > std::popcount(closure.run.groups))) {
      closure.run = run;
    }
  }
  sort_unique(outer_);
  closure.readers = table_.arena_.copy(std::span<const Item>(readers_));
  closure.outer = table_.arena_.copy(std::span<const Item>(outer_));
  return closure;
}

// Whether each returns only to calls that were made before.
bool Configurations::ClosureBuilder::calls_are_in_order() const {
  for (std::uint32_t c = 0; c < num_calls_; ++c) {
    for (const Item& item : calls_[c].returns) {
      if (is_new(item.stack) && item.stack - kGroup >= c) return false;
    }
  }
  return true;
}

// Nodes of the table for the calls made here.
void Configurations::ClosureBuilder::intern_calls() {
  ids_.assign(num_calls_, 0);
  if (calls_are_in_order()) {
    group_.resize(1);
    for (std::uint32_t c = 0; c < num_calls_; ++c) {
      group_[0].clear();
      for (const Item& item : calls_[c].returns)
        group_[0].push_back({item.state, is_new(item.stack) ? ids_[item.stack - kGroup] : item.stack});
      ids_[c] = table_.find_group(group_);
    }
    return;
  }
  std::vector<std::vector<std::uint32_t>> edges(num_calls_);
  for (std::size_t c = 0; c < num_calls_; ++c) {
    for (const Item& item : calls_[c].returns) {
      if (is_new(item.stack)) edges[c].push_back(item.stack - kGroup);
    }
  }
  std::vector<std::uint32_t> place_in_group(num_calls_, 0);
  std::vector<bool> finished(num_calls_);
  for (std::vector<std::uint32_t>& component : strong_components(edges)) {
    std::sort(component.begin(), component.end());
    for (std::uint32_t i = 0; i < component.size(); ++i) place_in_group[component[i]] = i;
    group_.assign(component.size(), {});
    for (std::uint32_t i = 0; i < component.size(); ++i) {
      for (const Item& item : calls_[component[i]].returns) {
        const bool inside = is_new(item.stack) && !finished[item.stack - kGroup];
        const StackId stack = inside               ? kGroup + place_in_group[item.stack - kGroup]
                              : is_new(item.stack) ? ids_[item.stack - kGroup]
                                                   : item.stack;
        group_[i].push_back({item.state, stack});
      }
    }
    const StackId first = table_.find_group(group_);
    for (std::uint32_t i = 0; i < component.size(); ++i) {
      ids_[component[i]] = first + i;
      finished[component[i]] = true;
    }
  }
}

}  // namespace semfuse
