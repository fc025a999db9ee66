// The grammar as automata that call each other: what cursors walk through.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/byte_groups.h"
#include "grammar/rule_nfa.h"

namespace semfuse {

using StateId = std::uint32_t;

// From the state, every string of at most `length` bytes of these groups is read within its rule. A state that loops,
// as inside a string, has no limit (kEndless); one of a counted repetition is as long as what is left of it.
struct StateRun {
  static constexpr std::uint32_t kEndless = 0xFFFFFFFF;
  ByteGroups groups = 0;
  std::uint32_t length = 0;
};

// States of all rules in one numbering. From every state some text leads to the end of its rule. A rule is
// deterministic where that keeps it small; otherwise it has empty edges and ranges that overlap.
//
// A repetition with large counts has its body once, but a state for each time and state of the body: these exist only
// as numbers from kFirstCounted on. The edges of the body lead to places within one time; an `offset` is added to them.
class Automaton {
 public:
  // Entered at the end of a rule from which nothing goes on; all rules share it.
  static constexpr StateId kEnd = 0;
  static constexpr StateId kFirstCounted = 0x80000000;
  static constexpr StateId kNone = 0xFFFFFFFF;

  struct ByteEdge {
    std::uint8_t low = 0;
    std::uint8_t high = 0;  // Inclusive.
    StateId target = 0;
    ContextSet contexts = kNothingSet;  // What may be set where it reads.
  };
  struct CallEdge {
    StateId start = 0;   // Of the rule called.
    StateId target = 0;  // Where it returns to.
  };
  struct State {
    std::vector<ByteEdge> bytes;  // Ascending.
    std::vector<CallEdge> calls;
    std::vector<StateId> empty;
    bool accepting = false;
  };

  // A state as it is met. Its edges lead to their targets + offset.
  struct View {
    const State& state;
    StateId offset = 0;
    StateId exit = kNone;  // An empty edge more: out of a counted repetition.
  };

  explicit Automaton(const RuleNfa& nfa);

  StateId root() const { return root_; }
  View operator[](StateId state) const {
    if (state < kFirstCounted) return {states_[state]};
    return counted(state);
  }
  StateRun run(StateId state) const;
  bool has_calls() const { return has_calls_; }
  bool has_settings() const { return has_settings_; }
  const std::array<bool, 256>& bytes_used() const { return bytes_used_; }

  // Bytes that no edge tells apart are of one class, counted from 0.
  std::uint32_t byte_class(std::uint8_t byte) const { return byte_class_[byte]; }
  const std::array<std::uint8_t, 256>& byte_classes() const { return byte_class_; }
  std::uint32_t num_byte_classes() const { return byte_class_[255] + 1u; }

  // Where a counted state stands.
  struct Count {
    StateId place = 0;  // The state of the body, in the numbering of its first time.
    std::uint32_t times = 0;
    bool enough = false;  // The repetition may end when this time has ended.
  };
  Count count(StateId state) const;

  // A state from which the same strings of at most so many bytes can be read, and after the same of these the rule can
  // end: one of all those of a counted repetition that are far from its limits.
  StateId representative(StateId state, std::size_t most_bytes) const;

 private:
  class Builder;

  // A repetition between two states of a rule.
  struct Counter {
    StateId first = 0;        // The numbers of its states begin there.
    StateId body = 0;         // First state of the body in states_, and how many they are.
    std::uint32_t size = 0;   // That as a target is the first state of the next time.
    std::uint32_t least = 0;  // Times.
    std::uint32_t most = 0;
    std::uint32_t shortest = 0;  // Bytes of a time.
    ByteGroups groups = 0;       // A character of these is one time.
    StateId exit = kEnd;
  };
  const Counter& counter_of(StateId state) const;
  View counted(StateId state) const;

  std::vector<State> states_;
  std::vector<StateRun> runs_;
  std::vector<Counter> counters_;  // By `first`.
  StateId root_ = 0;
  bool has_calls_ = false;
  bool has_settings_ = false;
  std::array<bool, 256> bytes_used_{};
  std::array<std::uint8_t, 256> byte_class_{};
};

}  // namespace semfuse
