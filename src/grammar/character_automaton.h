// Sets of strings as deterministic automata over characters, with what sets can do: share, take away, be empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/regex.h"

namespace semfuse {

// State 0 is the start; from every other state some text leads to an accepting one. Functions that make one throw
// Error, without a place, if it needs more than 20,000 states.
class CharacterAutomaton {
 public:
  struct Edge {
    char32_t low = 0;
    char32_t high = 0;  // Inclusive.
    std::uint32_t target = 0;
  };
  struct State {
    std::vector<Edge> edges;  // Ascending, apart.
    bool accepting = false;
  };

  explicit CharacterAutomaton(std::vector<State> states);  // Leaves out what leads nowhere.

  // Texts that match from beginning to end, or that hold a match if `search`.
  static CharacterAutomaton of(const Regex& regex, bool search);
  static CharacterAutomaton of_lengths(std::uint32_t least, std::uint32_t most);  // In characters; or kUnbounded.
  static CharacterAutomaton of_strings(const std::vector<std::string>& strings);  // Valid UTF-8.
  static std::vector<CodePointRange> any_character();
  static CharacterAutomaton everything() { return of_lengths(0, GrammarTree::kUnbounded); }

  CharacterAutomaton shared_with(const CharacterAutomaton& other) const { return combined(other, true); }
  CharacterAutomaton without(const CharacterAutomaton& other) const { return combined(other, false); }

  bool empty() const { return !states_[0].accepting && states_[0].edges.empty(); }
  bool matches(std::string_view text) const;  // Valid UTF-8.
  const std::vector<State>& states() const { return states_; }

 private:
  CharacterAutomaton combined(const CharacterAutomaton& other, bool both) const;

  std::vector<State> states_;
};

}  // namespace semfuse
