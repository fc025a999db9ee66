// What a configuration can do next.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/few_keys.h"

namespace semfuse {

// A place in a stack node's own group: the node itself or one that it shares a cycle with.
inline constexpr StackId kGroup = 0x80000000;

void sort_unique(std::vector<Configurations::Item>& items);
// Throws Error if a text has too many readings.
void check_number_of_items(std::size_t number);

// Follows calls, returns and empty edges. Nodes of calls made here may still gain places to return to, and may be in
// cycles; at the end they become nodes of the table. Its memory is used for one closure after the other.
class Configurations::ClosureBuilder {
 public:
  explicit ClosureBuilder(Configurations& table) : table_(table), automaton_(table.automaton_) {}

  Closure build(std::span<const Item> items);

 private:
  struct Call {
    StateId start = 0;
    std::vector<Item> returns;
    bool returned = false;
  };

  static bool is_new(StackId stack) { return stack >= kGroup; }

  void clear();
  // `covered`: an empty edge, or a call that reads nothing, leads there from another with the same stack, which can do
  // what it can.
  void add(Item item, bool covered = false);
  void expand(Item item);
  std::uint32_t call_of(StateId start);
  void return_from(StackId stack);
  Closure finish();
  void intern_calls();
  bool calls_are_in_order() const;

  Configurations& table_;
  const Automaton& automaton_;
  std::vector<Item> items_;
  std::vector<std::uint8_t> covered_;
  FewKeys<std::uint64_t> seen_;
  std::vector<Call> calls_;  // The first num_calls_ of them.
  std::uint32_t num_calls_ = 0;
  std::unordered_map<StateId, std::uint32_t> call_of_;  // Once they are many.
  FewKeys<StackId> returned_;
  std::vector<StackId> ids_;  // Of the calls, in the table.
  std::vector<std::vector<Item>> group_;
  std::vector<Item> readers_;
  std::vector<Item> outer_;
  std::size_t num_returns_ = 0;
  bool accepting_ = false;
};

}  // namespace semfuse
