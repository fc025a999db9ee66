#include "grammar_matcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse::python {

void GrammarMatcher::fill(std::span<std::int32_t> words) {
  const std::span<const std::uint64_t> set = place().allowed().words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t pair = i / 2 < set.size() ? set[i / 2] : 0;
    words[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i % 2 == 0 ? pair : pair >> 32));
  }
}

bool GrammarMatcher::advance(TokenId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= vocab_size()) {
    throw Error(fmt::format("token {} is none of this vocabulary, whose ids are from 0 to {}", id, vocab_size() - 1));
  }
  GrammarCursor next = place();
  if (!next.advance(id)) return false;
  places_.push_back(std::move(next));
  return true;
}

void GrammarMatcher::rollback(std::size_t count) {
  guard_.check();
  if (count > num_tokens()) {
    throw Error(fmt::format("{} tokens cannot be taken back, there are {}", count, num_tokens()));
  }
  places_.resize(places_.size() - count, places_.front());
}

std::vector<TokenId> GrammarMatcher::forced_tokens() {
  constexpr std::size_t kMost = 4096;  // A grammar may force a text without end.
  std::vector<TokenId> tokens;
  GrammarCursor cursor = place();
  while (tokens.size() < kMost && !cursor.ended()) {
    const std::optional<TokenId> token = cursor.forced();
    if (!token || !cursor.advance(*token)) break;
    tokens.push_back(*token);
  }
  return tokens;
}

}  // namespace semfuse::python
