#include "decoding/token_guesser.h"

namespace semfuse {

namespace {

constexpr std::uint8_t kMostTrust = 7;
constexpr std::uint8_t kEnoughTrust = 4;

}  // namespace

std::optional<TokenId> TokenGuesser::guess(TokenId token) const {
  const Entry& entry = entries_[static_cast<std::size_t>(token)];
  return entry.trust >= kEnoughTrust ? std::optional(entry.next) : std::nullopt;
}

void TokenGuesser::learn(TokenId token, TokenId next) {
  Entry& entry = entries_[static_cast<std::size_t>(token)];
  if (entry.next == next) {
    if (entry.trust < kMostTrust) ++entry.trust;
  } else if (entry.trust >= 2) {
    entry.trust -= 2;
  } else {
    entry = {.next = next, .trust = 1};
  }
}

}  // namespace semfuse
