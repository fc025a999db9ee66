// The tokens that may follow at each configuration, computed once each.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/configurations.h"
#include "grammar/stored_mask.h"
#include "grammar/token_trie.h"
#include "grammar/uniform_tokens.h"
#include "semfuse/grammar.h"

namespace semfuse {

// Why a token that the grammar can read leads to the end of some sentence.
enum class Promise {
  bytes,     // Every byte that the grammar uses is a token.
  explored,  // All configurations between tokens are known, and from which of them the end is reached.
  relation,  // A Completion tells.
  none       // It may not: the vocabulary is too large for an analysis.
};

// The same whatever rules are open around a state, so computed once for each state of the automaton, when a text first
// comes there. For any thread; references stay valid as long as the object.
class StateMasks {
 public:
  struct Mask {
    // Tokens that stay within the rule: all of these sets, which the vocabulary has or the mask itself,
    std::array<const TokenSet*, 2> sets = {};
    std::optional<TokenSet> own;
    std::vector<TokenId> few;  // and these.
    // Nodes of the trie where the rule may have ended and tokens go on, unless all of these may stay within it.
    std::vector<std::uint32_t> ends;
    bool too_many_ends = false;
  };

  // Trie and tokens are kept by reference.
  StateMasks(const TokenTrie& trie, const UniformTokens& uniform, std::size_t num_tokens, const Automaton& automaton)
      : trie_(trie), uniform_(uniform), num_tokens_(num_tokens), readable_(kinds_of(automaton.bytes_used())) {}

  const Mask& of(StateId state, Configurations& configurations);

 private:
  // Tokens that need no walk: those that the state's own run reads, and those that one behind a blank reads.
  struct Uniform {
    const TokenSet* all = nullptr;
    const TokenSet* blank = nullptr;
    TokenKinds kinds = 0;
    TokenKinds kinds_with_blank = 0;
    TokenKinds readable = 0;  // By any state.
    // Where the state itself has no run, but those behind its first bytes have: these bytes. Tokens of `all` that begin
    // with others are not meant.
    std::optional<std::array<bool, 256>> first;
    // Whether all tokens of a subtree are such ones or hold what no state reads. Either all of them begin with a blank
    // or none does.
    bool operator()(const TokenTrie::Node& node, std::uint8_t first_byte) const {
      const bool blank_first = (node.kinds & kLeadingBlank) != 0;
      const TokenKinds some = node.kinds & readable;
      return ((some & ~kinds) == 0 && (!first || (*first)[first_byte])) ||
             (blank_first && (some & ~kinds_with_blank) == 0);
    }
  };
  Uniform find_uniform(ConfigurationId begin, Configurations& configurations) const;
  void find_behind_first(ConfigurationId begin, Configurations& configurations, Uniform& uniform) const;
  TokenSet tokens_with_first(const Uniform& uniform) const;

  std::mutex mutex_;
  const TokenTrie& trie_;
  const UniformTokens& uniform_;
  std::size_t num_tokens_;
  TokenKinds readable_;
  std::unordered_map<StateId, std::unique_ptr<const Mask>> masks_;
};

// Configurations with their masks. Shared between cursors: whoever uses it holds its mutex, but for what is known
// already. References to masks stay valid as long as the object.
class TokenMasks {
 public:
  struct Vocabulary {
    const TokenTrie& first;
    const TokenTrie& later;
    std::size_t num_tokens;
    TokenId end;
  };

  TokenMasks(const Automaton& automaton, const Vocabulary& vocabulary, Promise promise, const Completion* completion,
             StateMasks& state_masks);

  std::mutex& mutex() { return mutex_; }
  Configurations& configurations() { return configurations_; }

  // What is known already; for any thread, without the mutex. Null and nothing if it is not.
  const StoredMask* known_mask(ConfigurationId configuration) const {
    const Entry* entry = entries_.find(configuration);
    return entry == nullptr ? nullptr : entry->mask.load(std::memory_order_acquire);
  }
  // What step() leads to along the text; kDead also where no sentence can be completed.
  struct Known {
    ConfigurationId at;
    bool accepting;
  };
  std::optional<Known> known_advance(ConfigurationId from, std::string_view text) const;

  // Tokens that may follow at the beginning, and anywhere else.
  TokenSet allowed_first();
  const StoredMask& allowed(ConfigurationId configuration);

  // What is set where the allowed tokens are read: each where its last byte is.
  ContextSet contexts_first();
  ContextSet contexts(ConfigurationId configuration);

  // The same, but only what leaves a way to the end of a sentence with so many tokens, the next one included.
  TokenSet allowed_first_within(std::size_t budget);
  TokenSet allowed_within(ConfigurationId configuration, std::size_t budget);
  // False if that is sure to be what allowed() says, or not worth its time. Needs no lock.
  bool is_near(std::size_t budget) const;

  // Whether tokens lead from here, between two tokens, to the end of a sentence.
  bool completable(ConfigurationId configuration);

  // Finds all configurations between tokens. False if they are more than allowed; then the object is of no more use.
  struct Limits {
    std::size_t configurations;
    std::size_t work;    // Trie nodes visited.
    std::size_t memory;  // Bytes.
  };
  bool explore(const Limits& limits);

  bool is_full() const { return promise_ != Promise::explored && memory() > kMostMemory; }
  std::size_t memory() const { return configurations_.memory() + stored_.memory() + mask_memory_; }

 private:
  static constexpr std::size_t kMostMemory = std::size_t{256} << 20;

  void add_readable(TokenSet& set, const TokenTrie& trie, ConfigurationId configuration);
  void add_by_states(TokenSet& set, ConfigurationId configuration);
  ContextSet find_contexts(const TokenTrie& trie, ConfigurationId configuration);
  bool ends_within(ConfigurationId configuration, std::size_t most_tokens);
  std::uint32_t search_end(ConfigurationId configuration, std::size_t most_tokens);
  TokenSet allowed_within(const TokenTrie& trie, ConfigurationId configuration, std::size_t budget);

  // Of a configuration, as far as it is known.
  struct Entry {
    std::atomic<const StoredMask*> mask = nullptr;
    std::atomic<signed char> completable = -1;  // 1, 0, or -1 if not known.
  };
  Entry& entry(ConfigurationId configuration);
  bool needs_completion() const { return promise_ == Promise::explored || promise_ == Promise::relation; }

  Vocabulary vocabulary_;
  Promise promise_;
  StateMasks& state_masks_;
  TokenSet scratch_;  // A mask is written there; most are known already.
  std::vector<std::uint32_t> ends_;
  Configurations configurations_;
  StableList<Entry> entries_;         // Of each configuration.
  std::vector<ContextSet> contexts_;  // Of each configuration, or 0 if not known.
  ContextSet contexts_first_ = 0;
  // Least number of tokens to the end of a sentence. After exploring, of every configuration between tokens.
  std::unordered_map<ConfigurationId, std::uint32_t> distance_;
  std::unordered_map<ConfigurationId, std::size_t> not_within_;  // A search found no end within so many tokens.
  std::unordered_map<ConfigurationId, std::size_t> free_from_;   // From this budget on nothing is ruled out there.
  std::size_t most_distance_ = 0;
  StoredMasks stored_;
  std::size_t mask_memory_ = 0;
  std::mutex mutex_;
};

}  // namespace semfuse
