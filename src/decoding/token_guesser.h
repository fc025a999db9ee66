// Guesses the token after a token, as a processor predicts branches: what followed last time, if it does so often.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

class TokenGuesser {
 public:
  explicit TokenGuesser(std::size_t vocab_size) : entries_(vocab_size) {}

  // Nothing if what follows `token` is not known, or changes.
  std::optional<TokenId> guess(TokenId token) const;
  // Hears that `next` followed.
  void learn(TokenId token, TokenId next);

 private:
  struct Entry {
    TokenId next = Vocabulary::kEos;
    std::uint8_t trust = 0;  // Grows while the guess is right, shrinks while it is wrong.
  };
  std::vector<Entry> entries_;  // By the token before.
};

}  // namespace semfuse
