// What a GrammarVocabulary holds.
#pragma once

#include <cstdint>
#include <optional>

#include "grammar/token_trie.h"
#include "grammar/uniform_tokens.h"
#include "semfuse/grammar.h"

namespace semfuse {

struct GrammarVocabulary::Parts {
  explicit Parts(TokenSurfaces surfaces_in);

  TokenSurfaces surfaces;
  std::uint64_t fingerprint = 0;
  TokenTrie later;
  UniformTokens uniform;           // Of the later surfaces.
  std::optional<TokenTrie> first;  // Nothing if it is the same.

  const TokenTrie& first_trie() const { return first ? *first : later; }
};

}  // namespace semfuse
