// Numbers within bounds, and multiples, as automata over the characters of JSON.
#pragma once

#include <optional>
#include <vector>

#include "grammar/character_automaton.h"
#include "grammar/decimal.h"

namespace semfuse {

struct NumberBounds {
  struct Bound {
    Decimal value;
    bool exclusive = false;
    bool operator==(const Bound&) const = default;
  };

  bool whole = false;  // Without fraction.
  std::optional<Bound> least;
  std::optional<Bound> most;
  std::vector<Decimal> multiples_of;  // Above zero.

  bool is_free() const { return !least && !most && multiples_of.empty(); }
  bool contains(const Decimal& number) const;
  // Sure to contain nothing; the other way round is not promised.
  bool is_empty() const;
};

// Written without an exponent, as that would hide how large they are. Throws Error, without a place, if that takes too
// many states.
CharacterAutomaton number_automaton(const NumberBounds& bounds);

}  // namespace semfuse
