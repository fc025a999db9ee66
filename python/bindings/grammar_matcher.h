// A cursor of a compiled grammar as Python holds it.
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
  explicit GrammarMatcher(const CompiledGrammar& grammar)
      : vocab_size_(grammar.vocab_size()), cursor_(grammar.begin()) {}

  std::size_t vocab_size() const { return vocab_size_; }
  std::size_t num_tokens() { return cursor().tokens().size(); }
  std::vector<TokenId> allowed() { return cursor().allowed().ids(); }

  // Writes a bit a token, set where it is allowed; words past the vocabulary become 0. `words` has room for all.
  void fill(std::span<std::int32_t> words);

  // False, and nothing changes, if the token is not allowed. Throws Error if it is none of the vocabulary.
  bool advance(TokenId id);
  void rollback(std::size_t count) { cursor().rollback(count); }

  bool can_end() { return cursor().can_end(); }
  bool ended() { return cursor().ended(); }
  std::string forced_text() { return cursor().forced_text(); }
  std::vector<TokenId> forced_tokens() { return cursor().forced_tokens(); }
  std::vector<std::string> expected(std::size_t limit) { return cursor().expected(limit); }

 private:
  GrammarCursor& cursor() {
    guard_.check();
    return cursor_;
  }

  ForkGuard guard_;
  std::size_t vocab_size_;
  GrammarCursor cursor_;
};

}  // namespace semfuse::python
