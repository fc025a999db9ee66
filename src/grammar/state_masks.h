// The tokens that a state of the automaton reads within its rule.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "grammar/arena.h"
#include "grammar/configurations.h"
#include "grammar/token_trie.h"
#include "grammar/token_walk.h"
#include "grammar/uniform_tokens.h"
#include "semfuse/grammar.h"

namespace semfuse {

// The same whatever rules are open around a state, so computed once for each state of the automaton, when a text first
// comes there. For any thread; references stay valid as long as the object.
class StateMasks {
 public:
  struct Mask {
    // Tokens that stay within the rule: all of these sets, which the vocabulary has or the mask itself,
    std::array<const TokenSet*, 2> sets = {};
    std::optional<TokenSet> own;
    std::span<const TokenId> few;  // and these.
    // Nodes of the trie where the rule may have ended and tokens go on, unless all of these may stay within it.
    std::span<const std::uint32_t> ends;
    bool too_many_ends = false;
  };

  // Trie and tokens are kept by reference.
  StateMasks(const TokenTrie& trie, const UniformTokens& uniform, std::size_t num_tokens, const Automaton& automaton)
      : trie_(trie), uniform_(uniform), num_tokens_(num_tokens), readable_(kinds_of(automaton.bytes_used())) {}

  const Mask& of(StateId state, Configurations& configurations);

 private:
  // Tokens that need no walk: those that the state's own run reads, or the run behind their first byte.
  struct Uniform {
    TokenKinds kinds = 0;  // Nothing if there are none.
    const TokenSet* tokens = nullptr;
    // The bytes that they begin with, if these are not all of those kinds.
    std::optional<std::array<bool, 256>> first;
  };
  Uniform find_uniform(ConfigurationId begin, Configurations& configurations) const;
  Uniform find_behind_blank(ConfigurationId begin, Configurations& configurations) const;
  static Uniform find_behind_first(ConfigurationId begin, Configurations& configurations);
  // As a set, or as tokens of the mask's own if not all are meant. `before`: the node behind which they begin.
  const TokenSet* insert_uniform(const Uniform& uniform, std::uint32_t before, Mask& mask) const;
  ReadableTokens::Wanted wanted_beside(const Uniform& plain, const Uniform& blank) const;

  std::mutex mutex_;
  const TokenTrie& trie_;
  const UniformTokens& uniform_;
  std::size_t num_tokens_;
  TokenKinds readable_;
  std::unordered_map<StateId, Mask> masks_;
  Arena arena_;
  // Memory for the mask that is computed now.
  std::vector<TokenId> few_;
  std::vector<std::uint32_t> ends_;
  ReadableTokens::Memory walk_memory_;
};

}  // namespace semfuse
