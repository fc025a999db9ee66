// Tokens that are nothing but bytes of some groups: what a state that reads on and on allows at once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "grammar/token_kinds.h"
#include "semfuse/grammar.h"

namespace semfuse {

// For any thread.
class UniformTokens {
 public:
  explicit UniformTokens(const KindsOfTokens& kinds);

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

  // Tokens of one kind stand together: there are few kinds.
  struct Kind {
    TokenKinds kinds;
    std::uint32_t end;  // In tokens_; they begin where those of the kind before end.
  };
  std::vector<Kind> kinds_;
  std::vector<TokenId> tokens_;
  TokenSet every_;        // That are of a kind at all.
  TokenSet every_blank_;  // Of these, those with a blank first.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Set>> sets_;
};

}  // namespace semfuse
