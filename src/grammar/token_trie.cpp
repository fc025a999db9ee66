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
  find_groups();
}

// Children come behind their parents, so from the back what is below a node is known when it is met.
void TokenTrie::find_groups() {
  constexpr std::uint32_t kMostHeight = 0xFFFF;
  groups_below_.assign(nodes_.size(), 0);
  heights_.assign(nodes_.size(), 0);
  std::vector<OpenCharacter> open;
  for (auto node = static_cast<std::uint32_t>(size()); node-- > 0;) {
    for (std::uint32_t child = node + 1; child < nodes_[node].end; child = nodes_[child].end) {
      groups_below_[node] |= kGroupOfByte[nodes_[child].byte] | (groups_below_[child] & ~kNotText);
      heights_[node] = static_cast<std::uint16_t>(
          std::min(kMostHeight, std::max<std::uint32_t>(heights_[node], heights_[child] + 1u)));
    }
    if ((groups_below_[node] & kWideBytes) != 0 && !begins_with_text(node, open)) groups_below_[node] |= kNotText;
  }
}

// Whether what follows a node is valid UTF-8, but for a last character that may be cut off.
bool TokenTrie::begins_with_text(std::uint32_t node, std::vector<OpenCharacter>& open) const {
  open.assign(1, {node, 0, 0, 0});
  while (!open.empty()) {
    const OpenCharacter place = open.back();
    open.pop_back();
    for (std::uint32_t child = place.node + 1; child < nodes_[place.node].end; child = nodes_[child].end) {
      const std::uint32_t byte = nodes_[child].byte;
      if (place.left > 0) {
        if (byte < place.low || byte > place.high) return false;
        if (place.left > 1) open.push_back({child, 0x80, 0xBF, place.left - 1});
      } else if (byte >= 0x80) {
        if (byte < 0xC2 || byte > 0xF4) return false;
        const std::uint32_t low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
        const std::uint32_t high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
        open.push_back({child, low, high, byte >= 0xF0 ? 3u : byte >= 0xE0 ? 2u : 1u});
      }
      const bool at_character = place.left == 1 || (place.left == 0 && byte < 0x80);
      if (at_character && (groups_below_[child] & kNotText) != 0) return false;
    }
  }
  return true;
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
