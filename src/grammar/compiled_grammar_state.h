// What a CompiledGrammar and its cursors share.
#pragma once

#include <memory>
#include <mutex>

#include "grammar/completion.h"
#include "grammar/grammar_parts.h"
#include "grammar/token_masks.h"
#include "grammar/token_trie.h"
#include "grammar/vocabulary_parts.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct CompiledGrammar::State {
  State(const Grammar& grammar_in, GrammarVocabulary vocabulary_in);

  std::shared_ptr<TokenMasks> new_masks() const;
  // Those that a cursor starts with: replaced by new ones when they have grown too large.
  std::shared_ptr<TokenMasks> current_masks() const;

  Grammar grammar;
  GrammarVocabulary vocabulary;
  Promise promise = Promise::none;
  std::unique_ptr<const Completion> completion;
  mutable StateMasks state_masks;
  TokenSet allowed_first;
  TokenSet nothing;

  const Automaton& automaton() const { return grammar.parts_->automaton; }
  const TokenSurfaces& surfaces() const { return vocabulary.surfaces(); }
  const TokenTrie& later() const { return vocabulary.parts_->later; }
  const TokenTrie& first_trie() const { return vocabulary.parts_->first_trie(); }

 private:
  bool spells_every_byte() const;
  void choose_promise();
  [[noreturn]] void fail_to_complete() const;

  mutable std::mutex mutex_;
  mutable std::shared_ptr<TokenMasks> masks_;
};

}  // namespace semfuse
