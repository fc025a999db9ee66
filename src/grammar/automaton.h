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
class Automaton {
 public:
  // Entered at the end of a rule from which nothing goes on; all rules share it.
  static constexpr StateId kEnd = 0;

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

  explicit Automaton(const RuleNfa& nfa);

  StateId root() const { return root_; }
  std::size_t size() const { return states_.size(); }
  const State& operator[](StateId state) const { return states_[state]; }
  const StateRun& run(StateId state) const { return runs_[state]; }
  bool has_calls() const { return has_calls_; }
  bool has_settings() const { return has_settings_; }
  const std::array<bool, 256>& bytes_used() const { return bytes_used_; }

 private:
  std::vector<State> states_;
  std::vector<StateRun> runs_;
  StateId root_ = 0;
  bool has_calls_ = false;
  bool has_settings_ = false;
  std::array<bool, 256> bytes_used_{};
};

}  // namespace semfuse
