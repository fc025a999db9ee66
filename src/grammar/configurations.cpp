#include "grammar/configurations.h"

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "grammar/closure_builder.h"

namespace semfuse {
namespace {

constexpr std::size_t kFirstSlots = 256;

std::uint64_t hash_of_items(std::span<const Configurations::Item> items) {
  std::uint64_t hash = items.size();
  for (const Configurations::Item& item : items) {
    hash = mix_bits(hash ^ (std::uint64_t{item.state} << 32 | item.stack)) + 0x9E3779B97F4A7C15ull;
  }
  return hash;
}

}  // namespace

Configurations::Configurations(const Automaton& automaton, const Completion* completion)
    : automaton_(automaton),
      completion_(completion),
      table_(kFirstSlots),
      builder_(std::make_unique<ClosureBuilder>(*this)) {
  returns_.emplace_back();  // kBottom
  group_size_.push_back(1);
  if (completion_ != nullptr) {
    good_.push_back({Completion::kBoundary});
    if (completion_->begin() != Completion::kBoundary) good_.back().push_back(completion_->begin());
  }
  find({});  // kDead
  const Item begin = {automaton.root(), kBottom};
  find({&begin, 1});  // kBegin
}

Configurations::~Configurations() = default;

// Changes the list.
ConfigurationId Configurations::find_these(std::vector<Item>& items) {
  // An item at the end of its rule is the places that the rule returns to.
  std::size_t num_kept = 0;
  seen_.clear();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Item item = items[i];
    if (item.state != Automaton::kEnd || item.stack == kBottom) {
      items[num_kept++] = item;
    } else {
      work_ += returns_[item.stack].size();
      for (const Item& target : returns_[item.stack]) {
        if (seen_.insert(std::uint64_t{target.state} << 32 | target.stack)) items.push_back(target);
      }
      check_number_of_items(items.size());
    }
  }
  work_ += num_kept;
  items.resize(num_kept);
  if (num_kept > 1) {
    sort_unique(items);
    drop_exceeded(items);
  }
  const auto hash = static_cast<std::uint32_t>(hash_of_items(items));
  std::size_t slot = hash & (table_.size() - 1);
  for (; table_[slot].configuration != kUnknown; slot = (slot + 1) & (table_.size() - 1)) {
    const ConfigurationId known = table_[slot].configuration;
    if (table_[slot].hash == hash && std::ranges::equal(nodes_[known].items, items)) return known;
  }
  const auto id = static_cast<ConfigurationId>(nodes_.size());
  nodes_.grow(nodes_.size() + 1);
  memory_ += 150 + items.size() * sizeof(Item);
  nodes_[id].items = arena_.copy(std::span<const Item>(items));
  table_[slot] = {hash, id};
  if (2 * nodes_.size() > table_.size()) grow_table();
  return id;
}

void Configurations::grow_table() {
  std::vector<Slot> table(2 * table_.size());
  for (const Slot& one : table_) {
    if (one.configuration == kUnknown) continue;
    std::size_t slot = one.hash & (table.size() - 1);
    while (table[slot].configuration != kUnknown) slot = (slot + 1) & (table.size() - 1);
    table[slot] = one;
  }
  table_ = std::move(table);
}

// Two items in the same counted repetition that may end it read the same, but one goes on for longer: the other adds
// nothing.
void Configurations::drop_exceeded(std::vector<Item>& items) {
  const auto first = std::lower_bound(items.begin(), items.end(), Item{Automaton::kFirstCounted, 0});
  if (items.end() - first < 2) return;
  seen_.clear();
  // Ascending, so what was repeated less often comes first.
  items.erase(std::remove_if(first, items.end(),
                             [&](const Item& item) {
                               const Automaton::Count count = automaton_.count(item.state);
                               const std::uint64_t place = std::uint64_t{count.place} << 32 | item.stack;
                               return count.enough && !seen_.insert(place);
                             }),
              items.end());
}

ConfigurationId Configurations::representative(ConfigurationId configuration, std::size_t most_bytes) {
  const std::span<const Item> here = nodes_[configuration].items;
  if (here.empty() || here.back().state < Automaton::kFirstCounted) return configuration;
  found_.assign(here.begin(), here.end());
  for (Item& item : found_) item.state = automaton_.representative(item.state, most_bytes);
  return std::ranges::equal(found_, here) ? configuration : find_these(found_);
}

// All bytes that nothing reads are known to lead nowhere as soon as one is asked for.
Configurations::Row Configurations::make_row(Node& node) {
  static_assert(kDead == 0, "rows are made of nothing");
  const std::span<std::atomic<ConfigurationId>> row =
      arena_.make<std::atomic<ConfigurationId>>(automaton_.num_byte_classes());
  for (const Item& item : closure(node).readers) {
    for (const Automaton::ByteEdge& edge : automaton_[item.state].state.bytes) {
      const std::uint32_t last = automaton_.byte_class(edge.high);
      for (std::uint32_t c = automaton_.byte_class(edge.low); c <= last; ++c)
        row[c].store(kUnknown, std::memory_order_relaxed);
    }
  }
  memory_ += row.size_bytes();
  node.row.store(row.data(), std::memory_order_release);
  return row.data();
}

ConfigurationId Configurations::compute_step(ConfigurationId from, std::uint8_t byte) {
  Node& node = nodes_[from];
  row(from);
  std::atomic<ConfigurationId>& entry = node.row.load(std::memory_order_relaxed)[automaton_.byte_class(byte)];
  if (entry.load(std::memory_order_relaxed) == kDead) return kDead;
  found_.clear();
  for (const Item& item : node.closure.readers) {
    const Automaton::View view = automaton_[item.state];
    for (const Automaton::ByteEdge& edge : view.state.bytes) {
      if (edge.low > byte) break;
      if (byte <= edge.high) found_.push_back({edge.target + view.offset, item.stack});
    }
  }
  const ConfigurationId to = find_these(found_);
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

const Configurations::Closure& Configurations::make_closure(Node& node) {
  if (!find_plain_closure(node)) {
    node.closure = builder_->build(node.items);
    memory_ += (node.closure.readers.size() + node.closure.outer.size()) * sizeof(Item);
  }
  node.has_closure = true;
  node.accepting.store(node.closure.accepting ? 1 : 0, std::memory_order_relaxed);
  memory_ += 64;
  return node.closure;
}

// Of a single item that can only read: the closure is the item itself.
bool Configurations::find_plain_closure(Node& node) const {
  if (node.items.size() != 1) return false;
  const Item item = node.items[0];
  const auto [state, offset, exit] = automaton_[item.state];
  if (exit != Automaton::kNone || !state.empty.empty() || !state.calls.empty() || state.bytes.empty()) return false;
  if (state.accepting && item.stack != kBottom) return false;
  node.closure = {.readers = node.items, .outer = node.items, .run = automaton_.run(item.state)};
  node.closure.accepting = state.accepting;
  return true;
}

StackId Configurations::find_group(std::span<std::vector<Item>> group) {
  group_key_.assign(1, static_cast<std::uint32_t>(group.size()));
  for (std::size_t n = 0; n < group.size(); ++n) {
    // A call at the end of a rule returns to where that rule returns (so right recursion needs no deep stack).
    std::vector<Item>& returns = group_returns_;
    returns.clear();
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
    check_number_of_items(returns.size());
    group_key_.push_back(static_cast<std::uint32_t>(returns.size()));
    for (const Item& item : returns) {
      group_key_.push_back(item.state);
      group_key_.push_back(item.stack);
    }
    group[n].swap(returns);
  }
  if (group.size() == 1 && group[0].size() == 1 && group[0][0] == Item{Automaton::kEnd, kBottom}) return kBottom;
  if (const auto known = groups_.find(group_key_); known != groups_.end()) return known->second;
  const auto first = static_cast<StackId>(returns_.size());
  groups_.emplace(group_key_, first);
  for (std::size_t n = 0; n < group.size(); ++n) {
    for (Item& item : group[n]) {
      if (item.stack >= kGroup) item.stack = first + (item.stack - kGroup);
    }
    memory_ += 200 + 2 * group[n].size() * sizeof(Item);
    returns_.push_back(arena_.copy(std::span<const Item>(group[n])));
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
    std::vector<std::vector<Item>> group;
    for (StackId n = 0; n < group_size_[first]; ++n) {
      group.emplace_back(returns_[first + n].begin(), returns_[first + n].end());
      for (Item& item : group.back())
        item.stack = item.stack >= first ? kGroup + (item.stack - first) : ids[item.stack];
    }
    const StackId moved = other.find_group(group);
    for (StackId n = 0; n < group_size_[first]; ++n) ids[first + n] = moved + n;
  }
  std::vector<Item> items(nodes_[configuration].items.begin(), nodes_[configuration].items.end());
  for (Item& item : items) item.stack = ids[item.stack];
  return other.find(items);
}

}  // namespace semfuse
