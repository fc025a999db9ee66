#include "decoding/token_trie.h"

#include <algorithm>
#include <numeric>

namespace semfuse {

TokenTrie::TokenTrie(std::span<const std::string> strings) {
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].empty()) tokens_.push_back(static_cast<TokenId>(i));
  }
  const auto string_of = [&](TokenId id) -> const std::string& { return strings[static_cast<std::size_t>(id)]; };
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [&](TokenId a, TokenId b) { return string_of(a) < string_of(b); });  // As unsigned bytes.
  nodes_.push_back({});
  std::vector<std::uint32_t> path = {0};  // Nodes of the last string's prefixes.
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  for (std::uint32_t t = 0; t < tokens_.size(); ++t) {
    const std::string& string = string_of(tokens_[t]);
    const auto shared = static_cast<std::size_t>(
        std::mismatch(string.begin(), string.end(), last.begin(), last.end()).first - string.begin());
    if (shared == string.size() && last.size() == string.size()) continue;
    close(shared);
    for (std::size_t i = shared; i < string.size(); ++i) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back(
          {.first_token = t, .depth = static_cast<std::uint32_t>(i + 1), .byte = static_cast<std::uint8_t>(string[i])});
    }
    max_depth_ = std::max(max_depth_, static_cast<std::uint32_t>(string.size()));
    last = string;
  }
  close(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size())});
}

}  // namespace semfuse
