#include "grammar/configurations.h"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "core/random.h"
#include "grammar/strong_components.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

// A place in a stack node's own group: the node itself or one that it shares a cycle with.
constexpr StackId kGroup = 0x80000000;
constexpr std::size_t kMostItems = 50'000;

std::vector<std::uint32_t> words_of(std::span<const Configurations::Item> items) {
  std::vector<std::uint32_t> words;
  words.reserve(2 * items.size());
  for (const Configurations::Item& item : items) {
    words.push_back(item.state);
    words.push_back(item.stack);
  }
  return words;
}

std::uint64_t hash_of_items(std::span<const Configurations::Item> items) {
  std::uint64_t hash = items.size();
  for (const Configurations::Item& item : items) {
    hash = mix_bits(hash ^ (std::uint64_t{item.state} << 32 | item.stack)) + 0x9E3779B97F4A7C15ull;
  }
  return hash;
}

void sort_unique(std::vector<Configurations::Item>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

void check_size(std::size_t num_items) {
  if (num_items > kMostItems) {
    throw Error("grammar: the text can be read in too many ways at once; make the grammar less ambiguous");
  }
}

}  // namespace

Configurations::Configurations(const Automaton& automaton, const Completion* completion)
    : automaton_(automaton), completion_(completion) {
  returns_.emplace_back();  // kBottom
  group_size_.push_back(1);
  if (completion_ != nullptr) {
    good_.push_back({Completion::kBoundary});
    if (completion_->begin() != Completion::kBoundary) good_.back().push_back(completion_->begin());
  }
  find({});                             // kDead
  find({{automaton.root(), kBottom}});  // kBegin
}

ConfigurationId Configurations::find(std::vector<Item> items) {
  // An item at the end of its rule is the places that the rule returns to.
  std::unordered_set<std::uint64_t> seen;
  std::size_t num_kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item item = items[i];
    if (item.state != Automaton::kEnd || item.stack == kBottom) {
      items[num_kept++] = item;
    } else {
      work_ += returns_[item.stack].size();
      for (const Item& target : returns_[item.stack]) {
        if (seen.insert(std::uint64_t{target.state} << 32 | target.stack).second) items.push_back(target);
      }
      check_size(items.size());
    }
  }
  work_ += num_kept;
  items.resize(num_kept);
  sort_unique(items);
  drop_exceeded(items);
  const std::uint64_t hash = hash_of_items(items);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    if (nodes_[it->second].items == items) return it->second;
  }
  const auto id = static_cast<ConfigurationId>(nodes_.size());
  nodes_.grow(nodes_.size() + 1);
  memory_ += 150 + items.size() * sizeof(Item);
  nodes_[id].items = std::move(items);
  by_hash_.emplace(hash, id);
  return id;
}

// Two items in the same counted repetition that may end it read the same, but one goes on for longer: the other adds
// nothing.
void Configurations::drop_exceeded(std::vector<Item>& items) const {
  const auto first = std::lower_bound(items.begin(), items.end(), Item{Automaton::kFirstCounted, 0});
  if (items.end() - first < 2) return;
  std::unordered_set<std::uint64_t> longer;
  // Ascending, so what was repeated less often comes first.
  items.erase(std::remove_if(first, items.end(),
                             [&](const Item& item) {
                               const Automaton::Count count = automaton_.count(item.state);
                               const std::uint64_t place = std::uint64_t{count.place} << 32 | item.stack;
                               return count.enough && !longer.insert(place).second;
                             }),
              items.end());
}

ConfigurationId Configurations::representative(ConfigurationId configuration, std::size_t most_bytes) {
  const std::vector<Item>& here = nodes_[configuration].items;
  if (here.empty() || here.back().state < Automaton::kFirstCounted) return configuration;
  std::vector<Item> items = here;
  for (Item& item : items) item.state = automaton_.representative(item.state, most_bytes);
  return items == here ? configuration : find(std::move(items));
}

// All bytes that nothing reads are known to lead nowhere as soon as one is asked for.
std::atomic<ConfigurationId>* Configurations::new_row(const Closure& closure) {
  const std::uint32_t num_classes = automaton_.num_byte_classes();
  auto* row = new std::atomic<ConfigurationId>[num_classes];
  for (std::uint32_t c = 0; c < num_classes; ++c) row[c].store(kDead, std::memory_order_relaxed);
  for (const Item& item : closure.readers) {
    for (const Automaton::ByteEdge& edge : automaton_[item.state].state.bytes) {
      const std::uint32_t last = automaton_.byte_class(edge.high);
      for (std::uint32_t c = automaton_.byte_class(edge.low); c <= last; ++c)
        row[c].store(kUnknown, std::memory_order_relaxed);
    }
  }
  memory_ += num_classes * sizeof(ConfigurationId);
  return row;
}

Configurations::Row Configurations::row(ConfigurationId configuration) {
  std::atomic<std::atomic<ConfigurationId>*>& row = nodes_[configuration].row;
  if (row.load(std::memory_order_relaxed) == nullptr)
    row.store(new_row(closure(configuration)), std::memory_order_release);
  return row.load(std::memory_order_relaxed);
}

ConfigurationId Configurations::compute_step(ConfigurationId from, std::uint8_t byte) {
  const Closure& here = closure(from);
  row(from);
  std::atomic<ConfigurationId>& entry = nodes_[from].row.load(std::memory_order_relaxed)[automaton_.byte_class(byte)];
  if (entry.load(std::memory_order_relaxed) == kDead) return kDead;
  std::vector<Item> items;
  for (const Item& item : here.readers) {
    const Automaton::View view = automaton_[item.state];
    for (const Automaton::ByteEdge& edge : view.state.bytes) {
      if (edge.low > byte) break;
      if (byte <= edge.high) items.push_back({edge.target + view.offset, item.stack});
    }
  }
  const ConfigurationId to = find(std::move(items));
  entry.store(to, std::memory_order_release);
  return to;
}

ContextSet Configurations::contexts(ConfigurationId from, std::uint8_t byte) {
  ContextSet contexts = 0;
  for (const Item& item : closure(from).readers) {
    for (const Automaton::ByteEdge& edge : automaton_[item.state].state.bytes) {
      if (edge.low > byte) break;
      if (byte <= edge.high) contexts |= edge.contexts;
    }
  }
  return contexts;
}

ByteGroups Configurations::next_groups(ConfigurationId configuration) {
  ByteGroups groups = 0;
  for (const Item& item : closure(configuration).readers) {
    for (const Automaton::ByteEdge& edge : automaton_[item.state].state.bytes) {
      for (std::size_t byte = edge.low; byte <= edge.high; ++byte) groups |= kGroupOfByte[byte];
    }
  }
  return groups;
}

std::optional<std::uint8_t> Configurations::only_byte(ConfigurationId configuration) {
  const Closure& here = closure(configuration);
  if (here.accepting) return std::nullopt;
  std::optional<std::uint8_t> byte;
  for (const Item& item : here.readers) {
    for (const Automaton::ByteEdge& edge : automaton_[item.state].state.bytes) {
      if (edge.low != edge.high || (byte && *byte != edge.low)) return std::nullopt;
      byte = edge.low;
    }
  }
  return byte;
}

// Follows calls, returns and empty edges. Nodes of calls made here may still gain places to return to, and may be in
// cycles; at the end they become nodes of the table.
class Configurations::ClosureBuilder {
 public:
  explicit ClosureBuilder(Configurations& table) : table_(table), automaton_(table.automaton_) {}

  Closure build(ConfigurationId configuration) {
    for (const Item& item : table_.nodes_[configuration].items) add(item);
    for (std::size_t i = 0; i < items_.size(); ++i) expand(items_[i]);
    return finish();
  }

 private:
  struct Call {
    std::vector<Item> returns;
    bool returned = false;
  };

  static bool is_new(StackId stack) { return stack >= kGroup; }

  // `covered`: an empty edge, or a call that reads nothing, leads there from another with the same stack, which can do
  // what it can.
  void add(Item item, bool covered = false) {
    ++table_.work_;
    if (is_known(item)) return;
    items_.push_back(item);
    covered_.push_back(covered);
    check_size(items_.size());
  }

  // Most closures are small: a list is enough for these.
  bool is_known(Item item) {
    constexpr std::size_t kFew = 16;
    if (items_.size() < kFew) return std::find(items_.begin(), items_.end(), item) != items_.end();
    const auto key = [](Item one) { return std::uint64_t{one.state} << 32 | one.stack; };
    if (seen_.empty()) {
      for (const Item& one : items_) seen_.insert(key(one));
    }
    return !seen_.insert(key(item)).second;
  }

  void expand(Item item) {
    const auto [state, offset, exit] = automaton_[item.state];
    for (const StateId target : state.empty) add({target + offset, item.stack}, true);
    if (exit != Automaton::kNone) add({exit, item.stack}, true);
    if (state.accepting) return_from(item.stack);
    for (const Automaton::CallEdge& call : state.calls) {
      const Item target = {call.target + offset, item.stack};
      const auto [found, added] = call_of_.emplace(call.start, static_cast<std::uint32_t>(calls_.size()));
      if (added) {
        calls_.emplace_back();
        add({call.start, kGroup + found->second});
      }
      calls_[found->second].returns.push_back(target);
      check_size(++num_returns_);
      if (calls_[found->second].returned) add(target, true);
    }
  }

  void return_from(StackId stack) {
    if (stack == kBottom) {
      accepting_ = true;
    } else if (is_new(stack)) {
      Call& call = calls_[stack - kGroup];
      if (call.returned) return;
      call.returned = true;
      for (const Item& item : std::vector<Item>(call.returns)) add(item, true);
    } else if (returned_.emplace(stack, true).second) {
      for (const Item& item : table_.returns_[stack]) add(item);
    }
  }

  Closure finish() {
    const std::vector<StackId> ids = intern_calls();
    Closure closure;
    closure.accepting = accepting_;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item item = items_[i];
      const auto [state, offset, exit] = automaton_[item.state];
      const bool reads = !state.bytes.empty();
      if (reads) closure.readers.push_back({item.state, is_new(item.stack) ? ids[item.stack - kGroup] : item.stack});
      const bool goes_on = reads || !state.calls.empty() || !state.empty.empty() || exit != Automaton::kNone;
      if (!is_new(item.stack) && !covered_[i] && goes_on) closure.outer.push_back(item);
    }
    sort_unique(closure.readers);
    for (const Item& item : closure.readers) {
      const StateRun run = automaton_.run(item.state);
      if (run.length > closure.run.length ||
          (run.length == closure.run.length && std::popcount(run.groups) > std::popcount(closure.run.groups))) {
        closure.run = run;
      }
    }
    sort_unique(closure.outer);
    return closure;
  }

  // Nodes of the table for the calls made here.
  std::vector<StackId> intern_calls() {
    std::vector<std::vector<std::uint32_t>> edges(calls_.size());
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      for (const Item& item : calls_[c].returns) {
        if (is_new(item.stack)) edges[c].push_back(item.stack - kGroup);
      }
    }
    std::vector<StackId> ids(calls_.size());
    std::vector<std::uint32_t> place_in_group(calls_.size(), 0);
    std::vector<bool> finished(calls_.size());
    for (std::vector<std::uint32_t>& component : strong_components(edges)) {
      std::sort(component.begin(), component.end());
      for (std::uint32_t i = 0; i < component.size(); ++i) place_in_group[component[i]] = i;
      std::vector<std::vector<Item>> group(component.size());
      for (std::uint32_t i = 0; i < component.size(); ++i) {
        for (const Item& item : calls_[component[i]].returns) {
          const bool inside = is_new(item.stack) && !finished[item.stack - kGroup];
          const StackId stack = inside               ? kGroup + place_in_group[item.stack - kGroup]
                                : is_new(item.stack) ? ids[item.stack - kGroup]
                                                     : item.stack;
          group[i].push_back({item.state, stack});
        }
      }
      const StackId first = table_.find_group(group);
      for (std::uint32_t i = 0; i < component.size(); ++i) {
        ids[component[i]] = first + i;
        finished[component[i]] = true;
      }
    }
    return ids;
  }

  Configurations& table_;
  const Automaton& automaton_;
  std::vector<Item> items_;
  std::vector<bool> covered_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<Call> calls_;
  std::unordered_map<StateId, std::uint32_t> call_of_;
  std::unordered_map<StackId, bool> returned_;
  std::size_t num_returns_ = 0;
  bool accepting_ = false;
};

const Configurations::Closure& Configurations::closure(ConfigurationId configuration) {
  Node& node = nodes_[configuration];
  if (!node.closure) {
    auto closure = std::make_unique<Closure>(ClosureBuilder(*this).build(configuration));
    memory_ += 64 + (closure->readers.size() + closure->outer.size()) * sizeof(Item);
    node.closure = std::move(closure);
    node.accepting.store(node.closure->accepting ? 1 : 0, std::memory_order_relaxed);
  }
  return *node.closure;
}

StackId Configurations::find_group(std::span<std::vector<Item>> group) {
  std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(group.size())};
  for (std::size_t n = 0; n < group.size(); ++n) {
    // A call at the end of a rule returns to where that rule returns (so right recursion needs no deep stack).
    std::vector<Item> returns;
    for (const Item& item : group[n]) {
      const bool ends = item.state == Automaton::kEnd && item.stack != kBottom;
      if (ends && item.stack < kGroup) {
        returns.insert(returns.end(), returns_[item.stack].begin(), returns_[item.stack].end());
      } else if (!ends || item.stack != kGroup + n) {
        returns.push_back(item);
      }
    }
    work_ += returns.size();
    sort_unique(returns);
    drop_exceeded(returns);
    check_size(returns.size());
    const std::vector<std::uint32_t> words = words_of(returns);
    key.push_back(static_cast<std::uint32_t>(returns.size()));
    key.insert(key.end(), words.begin(), words.end());
    group[n] = std::move(returns);
  }
  if (group.size() == 1 && group[0] == std::vector<Item>{{Automaton::kEnd, kBottom}}) return kBottom;
  const auto [found, added] = groups_.emplace(std::move(key), static_cast<StackId>(returns_.size()));
  if (!added) return found->second;
  const StackId first = found->second;
  for (std::size_t n = 0; n < group.size(); ++n) {
    for (Item& item : group[n]) {
      if (item.stack >= kGroup) item.stack = first + (item.stack - kGroup);
    }
    memory_ += 200 + 2 * group[n].size() * sizeof(Item);
    returns_.push_back(std::move(group[n]));
    group_size_.push_back(n == 0 ? static_cast<std::uint32_t>(group.size()) : 0);
  }
  if (completion_ != nullptr) find_good(first, group.size());
  return first;
}

// The places at which a rule may end: from there, one of its returns goes on to a good end of the rule around it.
void Configurations::find_good(StackId first, std::size_t num_nodes) {
  good_.resize(first + num_nodes);
  for (bool changed = true; changed;) {
    changed = false;
    for (StackId node = first; node < first + num_nodes; ++node) {
      std::vector<Completion::Place> good;
      for (const Item& item : returns_[node]) {
        for (const Completion::Place place : completion_->places(item.state)) {
          if (intersect(completion_->ends(item.state, place), good_[item.stack])) good.push_back(place);
        }
      }
      std::sort(good.begin(), good.end());
      good.erase(std::unique(good.begin(), good.end()), good.end());
      changed |= good != good_[node];
      good_[node] = std::move(good);
    }
    changed &= num_nodes > 1 || std::any_of(returns_[first].begin(), returns_[first].end(),
                                            [first](const Item& item) { return item.stack == first; });
  }
  for (StackId node = first; node < first + num_nodes; ++node)
    memory_ += good_[node].size() * sizeof(Completion::Place);
}

bool Configurations::completable(ConfigurationId configuration, Completion::Place place) const {
  return std::any_of(nodes_[configuration].items.begin(), nodes_[configuration].items.end(), [&](const Item& item) {
    return intersect(completion_->ends(item.state, place), good_[item.stack]);
  });
}

ConfigurationId Configurations::move_to(Configurations& other, ConfigurationId configuration) const {
  // Nodes return to nodes of their own group or made before.
  std::vector<bool> needed(returns_.size());
  for (const Item& item : nodes_[configuration].items) needed[item.stack] = true;
  for (StackId node = static_cast<StackId>(returns_.size()); node-- > 1;) {
    StackId first = node;
    while (group_size_[first] == 0) --first;
    bool wanted = false;
    for (StackId member = first; member < first + group_size_[first]; ++member) wanted |= needed[member];
    for (StackId member = first; member < first + group_size_[first]; ++member) {
      needed[member] = wanted;
      if (!wanted) continue;
      for (const Item& item : returns_[member]) needed[item.stack] = true;
    }
    node = first;
  }
  std::vector<StackId> ids(returns_.size(), kBottom);
  for (StackId first = 1; first < returns_.size(); first += group_size_[first]) {
    if (!needed[first]) continue;
    std::vector<std::vector<Item>> group(returns_.begin() + first, returns_.begin() + first + group_size_[first]);
    for (std::vector<Item>& returns : group) {
      for (Item& item : returns) item.stack = item.stack >= first ? kGroup + (item.stack - first) : ids[item.stack];
    }
    const StackId moved = other.find_group(group);
    for (StackId n = 0; n < group_size_[first]; ++n) ids[first + n] = moved + n;
  }
  std::vector<Item> items = nodes_[configuration].items;
  for (Item& item : items) item.stack = ids[item.stack];
  return other.find(std::move(items));
}

}  // namespace semfuse
