// The tokens that may follow at each configuration, computed once each.
#pragma once

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
#include "grammar/draft_mask.h"
#include "grammar/state_masks.h"
#include "grammar/stored_mask.h"
#include "grammar/token_trie.h"
#include "grammar/token_walk.h"
#include "semfuse/grammar.h"

namespace semfuse {

// Why a token that the grammar can read leads to the end of some sentence.
enum class Promise {
  bytes,     // Every byte that the grammar uses is a token.
  explored,  // All configurations between tokens are known, and from which of them the end is reached.
  relation,  // A Completion tells.
  none       // It may not: the vocabulary is too large for an analysis.
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

  // Into the draft.
  void add_readable(const TokenTrie& trie, ConfigurationId configuration);
  void add_by_states(ConfigurationId configuration);
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
  DraftMask draft_;
  std::vector<std::uint32_t> ends_;
  ReadableTokens::Memory walk_memory_;
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
