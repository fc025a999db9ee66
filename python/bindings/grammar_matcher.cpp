#include "grammar_matcher.h"

#include <fmt/format.h>

#include <algorithm>

#include "semfuse/error.h"

namespace semfuse::python {

void GrammarMatcher::fill(std::span<std::int32_t> words) {
  const std::size_t needed = (vocab_size_ + 31) / 32;
  cursor().fill(words.first(needed));
  std::ranges::fill(words.subspan(needed), 0);
}

bool GrammarMatcher::advance(TokenId id) {
  if (id < 0 || static_cast<std::size_t>(id) >= vocab_size_) {
    throw Error(fmt::format("token {} is none of this vocabulary, whose ids are from 0 to {}", id, vocab_size_ - 1));
  }
  return cursor().advance(id);
}

}  // namespace semfuse::python
