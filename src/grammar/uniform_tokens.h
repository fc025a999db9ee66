// Tokens that are nothing but bytes of some groups: what a state that reads on and on allows at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "grammar/token_kinds.h"
#include "semfuse/grammar.h"

namespace semfuse {

// For any thread.
class UniformTokens {
 public:
  // Of each token; kept by reference.
  explicit UniformTokens(const std::vector<TokenKinds>& kinds) : kinds_(kinds) {}

  // Tokens of these kinds alone, all of them or those that begin with a blank. Null if there are no kinds, or too many
  // such sets already. Computed once and kept.
  const TokenSet* all(TokenKinds kinds) const { return find(kinds, 0); }
  const TokenSet* with_blank(TokenKinds kinds) const { return find(kinds, kLeadingBlank); }

 private:
  struct Set {
    TokenKinds kinds;
    TokenKinds needed;
    TokenSet tokens;
  };
  const TokenSet* find(TokenKinds kinds, TokenKinds needed) const;

  const std::vector<TokenKinds>& kinds_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Set>> sets_;
};

}  // namespace semfuse
