#include "grammar/token_trie.h"

#include <algorithm>

namespace semfuse {
namespace {

std::vector<TokenTrie::Entry> entries_of(std::span<const std::string> strings) {
  std::vector<TokenTrie::Entry> entries;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].empty()) entries.push_back({strings[i], static_cast<TokenId>(i)});
  }
  return entries;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> strings) : TokenTrie(entries_of(strings)) {}

TokenTrie::TokenTrie(std::vector<Entry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.string < b.string; });  // As unsigned bytes.
  nodes_.push_back({});
  std::vector<std::uint32_t> path = {0};  // Nodes of the last string's prefixes.
  std::string_view last;
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  for (const auto& [string, token] : entries) {
    const auto shared = static_cast<std::size_t>(
        std::mismatch(string.begin(), string.end(), last.begin(), last.end()).first - string.begin());
    if (string != last) {
      close(shared);
      for (std::size_t i = shared; i < string.size(); ++i) {
        path.push_back(static_cast<std::uint32_t>(nodes_.size()));
        nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size()),
                          .depth = static_cast<std::uint32_t>(i + 1),
                          .byte = static_cast<std::uint8_t>(string[i])});
      }
      max_depth_ = std::max(max_depth_, static_cast<std::uint32_t>(string.size()));
      last = string;
    }
    tokens_.push_back(token);
  }
  close(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size())});
}

std::optional<TokenTrie::Longest> TokenTrie::longest_prefix(std::string_view text) const {
  std::optional<Longest> longest;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    std::uint32_t child = node + 1;
    while (child < nodes_[node].end && nodes_[child].byte < byte) child = nodes_[child].end;
    if (child >= nodes_[node].end || nodes_[child].byte != byte) break;
    node = child;
    if (!tokens(node).empty()) longest = {.token = tokens(node)[0], .length = i + 1};
  }
  return longest;
}

}  // namespace semfuse
