// A cursor that can go back: where a text stands in a compiled grammar, and where it stood after each of its tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fork_guard.h"
#include "semfuse/grammar.h"

namespace semfuse::python {

// Copyable: a copy goes its own way. One thread at a time; Python's callers share none between threads. All functions
// throw Error in a fork of the process that made it.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(const CompiledGrammar& grammar) : grammar_(grammar), places_({grammar.begin()}) {}

  std::size_t vocab_size() const { return grammar_.vocab_size(); }
  std::size_t num_tokens() const { return places_.size() - 1; }

  std::vector<TokenId> allowed() { return place().allowed().ids(); }

  // Writes a bit a token, set where it is allowed; words past the vocabulary become 0. `words` has room for all.
  void fill(std::span<std::int32_t> words);

  // False, and nothing changes, if the token is not allowed.
  bool advance(TokenId id);

  // Takes back the last tokens. Throws Error if there are fewer.
  void rollback(std::size_t count);

  bool can_end() { return place().can_end(); }
  bool ended() { return place().ended(); }

  // Tokens that must come next, one after the other; up to where there is a choice or the text may end.
  std::vector<TokenId> forced_tokens();

  std::vector<std::string> expected(std::size_t limit) { return place().expected(limit); }

 private:
  GrammarCursor& place() {
    guard_.check();
    return places_.back();
  }

  ForkGuard guard_;
  CompiledGrammar grammar_;
  std::vector<GrammarCursor> places_;  // Never empty.
};

}  // namespace semfuse::python
