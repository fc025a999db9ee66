// Which rules tokens can spell to their end, and where within a token that leaves the text.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/automaton.h"
#include "grammar/token_trie.h"

namespace semfuse {

// A place is a node of a trie: how far the text stands inside a token. For states and places that a text can come to,
// holds the places at which the state's rule can end. (The grammar intersected with the language of token strings,
// restricted to what is reachable.)
class Completion {
 public:
  using Place = std::uint32_t;
  static constexpr Place kBoundary = 0;  // Between two tokens: the root of the trie of later tokens.

  // `first` may be the same trie as `later`.
  Completion(const Automaton& automaton, const TokenTrie& first, const TokenTrie& later);

  // False if that takes more memory than allowed; then nothing else may be asked.
  bool finished() const { return finished_; }

  Place begin() const { return begin_; }
  std::span<const Place> ends(StateId state, Place place) const;
  // Every place at which a text can stand in that state.
  std::span<const Place> places(StateId state) const;

 private:
  struct Waiter {
    std::uint32_t pair;
    StateId target;
    bool returns;  // The pair goes on in `target` where this one ends; otherwise it ends where this one ends.
  };
  struct Pair {
    StateId state;
    Place place;
    std::vector<Place> ends;  // Ascending.
    std::vector<Waiter> waiters;
  };

  std::uint32_t demand(StateId state, Place place);
  void wait(std::uint32_t pair, Waiter waiter);
  void tell(const Waiter& waiter, Place end);
  void add_end(std::uint32_t pair, Place end);
  void expand(std::uint32_t pair);
  void solve(std::size_t most_work);

  const Automaton& automaton_;
  const TokenTrie& first_;
  const TokenTrie& later_;
  Place begin_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::unordered_map<StateId, std::vector<Place>> places_;
  std::vector<std::uint32_t> unexpanded_;
  std::vector<std::pair<std::uint32_t, Place>> news_;
  std::size_t work_ = 0;
  bool finished_ = false;
};

// Whether two ascending lists share an element.
bool intersect(std::span<const Completion::Place> a, std::span<const Completion::Place> b);

}  // namespace semfuse
