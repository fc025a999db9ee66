// Where a text can stand in a grammar: sets of automaton states, each with the calls it came through.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/arena.h"
#include "grammar/automaton.h"
#include "grammar/completion.h"
#include "grammar/few_keys.h"
#include "grammar/hash_words.h"
#include "grammar/stable_list.h"

namespace semfuse {

using StackId = std::uint32_t;
using ConfigurationId = std::uint32_t;

// All configurations met so far, each once, and the bytes that lead from one to another: a deterministic automaton that
// grows as it is used. Its memory is a graph-structured stack: a call of a rule is a stack node with the set of places
// that it may return to, shared by all that called it at the same byte. Equal nodes are one node, so a list of any
// length or a left recursion comes back to configurations that exist. One thread at a time, but for what says
// otherwise.
class Configurations {
 public:
  static constexpr StackId kBottom = 0;         // No call is open.
  static constexpr ConfigurationId kDead = 0;   // No text goes on from here.
  static constexpr ConfigurationId kBegin = 1;  // Nothing was read.

  struct Item {
    StateId state = 0;
    StackId stack = 0;
    auto operator<=>(const Item&) const = default;  // NOLINT(modernize-use-nullptr): there is no pointer.
  };

  // What a configuration can do next.
  struct Closure {
    std::span<const Item> readers;  // Items that can read a byte.
    // Items of calls that were open before, which read or call; not those that others of them lead to without reading.
    std::span<const Item> outer;
    StateRun run;            // The best of the readers'.
    bool accepting = false;  // The text so far is a sentence.
  };

  // With a completion, stack nodes know where tokens must end (see `completable`).
  explicit Configurations(const Automaton& automaton, const Completion* completion = nullptr);
  ~Configurations();

  // The configuration after one more byte. Throws Error if the text has too many readings.
  ConfigurationId step(ConfigurationId from, std::uint8_t byte) {
    const ConfigurationId known = known_step(from, byte);
    return known != kUnknown ? known : compute_step(from, byte);
  }

  // The same, and whether the text may end there, as far as that is known. For any thread at any time.
  static constexpr ConfigurationId kUnknown = 0xFFFFFFFF;
  ConfigurationId known_step(ConfigurationId from, std::uint8_t byte) const {
    const std::atomic<ConfigurationId>* row = nodes_[from].row.load(std::memory_order_acquire);
    return row == nullptr ? kUnknown : row[automaton_.byte_class(byte)].load(std::memory_order_acquire);
  }
  // The steps of a configuration, made if they are not known at all, for a walk over many bytes.
  using Row = const std::atomic<ConfigurationId>*;
  Row row(ConfigurationId configuration) {
    Node& node = nodes_[configuration];
    const Row row = node.row.load(std::memory_order_relaxed);
    return row != nullptr ? row : make_row(node);
  }
  ConfigurationId known_step(Row row, std::uint8_t byte) const {
    return row[automaton_.byte_class(byte)].load(std::memory_order_acquire);
  }
  // Calls visit(byte) for each byte that can be read next, ascending.
  template <typename Visit>
  void for_next_bytes(ConfigurationId configuration, Visit visit);
  const std::uint8_t* byte_classes() const { return automaton_.byte_classes().data(); }  // What rows are by.
  std::optional<bool> known_accepting(ConfigurationId configuration) const {
    const signed char known = nodes_[configuration].accepting.load(std::memory_order_relaxed);
    return known < 0 ? std::nullopt : std::optional(known > 0);
  }

  // What is set where that byte is read.
  ContextSet contexts(ConfigurationId from, std::uint8_t byte);

  // The byte that must come next, unless the text may end here or there is a choice.
  std::optional<std::uint8_t> only_byte(ConfigurationId configuration);

  const Closure& closure(ConfigurationId configuration) { return closure(nodes_[configuration]); }
  bool accepting(ConfigurationId configuration) { return closure(configuration).accepting; }

  ConfigurationId find(std::span<const Item> items) {
    found_.assign(items.begin(), items.end());
    return find_these(found_);
  }
  std::span<const Item> items(ConfigurationId configuration) const { return nodes_[configuration].items; }
  // One from which the same strings of at most so many bytes can be read, after the same of which the text may end.
  ConfigurationId representative(ConfigurationId configuration, std::size_t most_bytes);
  std::span<const Item> returns(StackId stack) const { return returns_[stack]; }

  // Strings that it surely reads on (see StateRun), and all groups of bytes that may come next.
  StateRun run(ConfigurationId configuration) { return closure(configuration).run; }
  ByteGroups next_groups(ConfigurationId configuration);

  // Whether tokens can lead from this configuration, at the end of one, to the end of a sentence.
  bool completable(ConfigurationId configuration, Completion::Place place) const;

  std::size_t size() const { return nodes_.size(); }
  std::size_t memory() const { return memory_; }  // Bytes, about.
  std::size_t work() const { return work_; }      // Items looked at so far.

  // The same configuration in another table.
  ConfigurationId move_to(Configurations& other, ConfigurationId configuration) const;

 private:
  struct Node {
    std::atomic<std::atomic<ConfigurationId>*> row = nullptr;  // By class of byte.
    std::atomic<signed char> accepting = -1;                   // 1, 0, or -1 if not known.
    bool has_closure = false;
    std::span<const Item> items;
    Closure closure;
  };

  class ClosureBuilder;

  ConfigurationId find_these(std::vector<Item>& items);
  void drop_exceeded(std::vector<Item>& items);
  void grow_table();

  const Closure& closure(Node& node) { return node.has_closure ? node.closure : make_closure(node); }
  const Closure& make_closure(Node& node);
  bool find_plain_closure(Node& node) const;
  Row make_row(Node& node);
  ConfigurationId compute_step(ConfigurationId from, std::uint8_t byte);
  // Adds stack nodes that may return to each other: places of the group are kGroup + index. Returns the first of them.
  StackId find_group(std::span<std::vector<Item>> group);
  void find_good(StackId first, std::size_t num_nodes);

  const Automaton& automaton_;
  const Completion* completion_;
  Arena arena_;                                       // What nodes and closures hold.
  std::vector<std::span<const Item>> returns_;        // Of each stack node.
  std::vector<std::uint32_t> group_size_;             // Of each stack node that is the first of its group, else 0.
  std::vector<std::vector<Completion::Place>> good_;  // Of each stack node: where its rule may end.
  std::unordered_map<std::vector<std::uint32_t>, StackId, HashWords> groups_;
  StableList<Node> nodes_;  // Of each configuration.
  // Configurations by the hash of their items. A power of two of slots, of which at most half are used; a configuration
  // stands in the first free one from that of its hash on.
  struct Slot {
    std::uint32_t hash = 0;
    ConfigurationId configuration = kUnknown;
  };
  std::vector<Slot> table_;
  std::size_t memory_ = 0;
  std::size_t work_ = 0;
  // Memory for what is looked for at the moment.
  std::unique_ptr<ClosureBuilder> builder_;
  std::vector<Item> found_;
  std::vector<Item> group_returns_;
  std::vector<std::uint32_t> group_key_;
  FewKeys<std::uint64_t> seen_;
};

template <typename Visit>
void Configurations::for_next_bytes(ConfigurationId configuration, Visit visit) {
  const std::span<const Item> readers = closure(configuration).readers;
  if (readers.size() == 1) {  // As nearly always: then edges are looked at, which are few.
    std::uint32_t next = 0;
    for (const Automaton::ByteEdge& edge : automaton_[readers[0].state].state.bytes) {
      for (next = std::max<std::uint32_t>(next, edge.low); next <= edge.high; ++next)
        visit(static_cast<std::uint8_t>(next));
    }
    return;
  }
  const Row row = this->row(configuration);
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (known_step(row, static_cast<std::uint8_t>(byte)) != kDead) visit(static_cast<std::uint8_t>(byte));
  }
}

}  // namespace semfuse
