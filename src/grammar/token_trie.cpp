#include "grammar/token_trie.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace semfuse {
namespace {

constexpr std::size_t kKeyBytes = 8;

// A string in the order of all. Most differ in their first bytes, so the string itself, somewhere in memory, is rarely
// looked at.
struct SortedString {
  std::uint64_t bytes;  // The first as a number that is ordered as they are.
  std::uint32_t length;
  TokenId token;

  std::uint8_t byte(std::size_t index) const { return static_cast<std::uint8_t>(bytes >> (56 - 8 * index)); }
};

SortedString sorted_string(std::string_view string, std::size_t token) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kKeyBytes; ++i)
    bytes = bytes << 8 | (i < string.size() ? static_cast<std::uint8_t>(string[i]) : 0u);
  return {bytes, static_cast<std::uint32_t>(string.size()), static_cast<TokenId>(token)};
}

// By strings, as unsigned bytes; what is equal stays in its order. If they are many, they are dealt out first by two
// bytes.
std::vector<SortedString> sort_strings(std::span<const std::string> strings) {
  const std::size_t pile_bits = strings.size() < 5'000 ? 0 : 16;
  const std::size_t num_piles = std::size_t{1} << pile_bits;
  const auto pile_of = [&](const SortedString& one) { return pile_bits == 0 ? 0 : one.bytes >> (64 - pile_bits); };
  std::vector<SortedString> unsorted;
  unsorted.reserve(strings.size());
  std::vector<std::uint32_t> begins(num_piles + 1);
  for (std::size_t token = 0; token < strings.size(); ++token) {
    if (strings[token].empty()) continue;
    unsorted.push_back(sorted_string(strings[token], token));
    ++begins[pile_of(unsorted.back()) + 1];
  }
  for (std::size_t pile = 0; pile < num_piles; ++pile) begins[pile + 1] += begins[pile];
  std::vector<std::uint32_t> next(begins.begin(), begins.end() - 1);
  std::vector<SortedString> sorted(unsorted.size());
  for (const SortedString& string : unsorted) sorted[next[pile_of(string)]++] = string;
  const auto string_of = [&](const SortedString& one) -> const std::string& {
    return strings[static_cast<std::size_t>(one.token)];
  };
  const auto comes_before = [&](const SortedString& a, const SortedString& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    if (a.length > kKeyBytes && b.length > kKeyBytes) {
      const int order = string_of(a).compare(string_of(b));
      if (order != 0) return order < 0;
    } else if (a.length != b.length) {
      return a.length < b.length;  // One is what the other begins with.
    }
    return a.token < b.token;
  };
  for (std::size_t pile = 0; pile < num_piles; ++pile) {
    if (begins[pile + 1] - begins[pile] > 1)
      std::sort(sorted.begin() + begins[pile], sorted.begin() + begins[pile + 1], comes_before);
  }
  return sorted;
}

// Bytes that two strings begin with alike.
std::size_t shared_bytes(std::span<const std::string> strings, const SortedString& a, const SortedString& b) {
  const std::size_t shorter = std::min(a.length, b.length);
  const auto first = static_cast<std::size_t>(std::countl_zero(a.bytes ^ b.bytes)) / 8;
  if (first < kKeyBytes || shorter <= kKeyBytes) return std::min(first, shorter);
  const std::string& one = strings[static_cast<std::size_t>(a.token)];
  const std::string& other = strings[static_cast<std::size_t>(b.token)];
  std::size_t shared = kKeyBytes;
  while (shared < shorter && one[shared] == other[shared]) ++shared;
  return shared;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> strings) {
  kinds_.reserve(strings.size());
  for (const std::string& string : strings) kinds_.push_back(kinds_of(string));
  const std::vector<SortedString> sorted = sort_strings(strings);
  std::vector<std::uint32_t> shared(sorted.size());  // Bytes that a string begins with as the one before.
  std::size_t num_nodes = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0) shared[i] = static_cast<std::uint32_t>(shared_bytes(strings, sorted[i - 1], sorted[i]));
    num_nodes += sorted[i].length - shared[i];
  }
  nodes_.reserve(num_nodes + 1);
  tokens_.reserve(sorted.size());
  nodes_.push_back({});
  std::vector<std::uint32_t> path = {0};  // Nodes of the last string's prefixes.
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth + 1; path.pop_back())
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const SortedString& string = sorted[i];
    const char* bytes = strings[static_cast<std::size_t>(string.token)].data();
    if (shared[i] < string.length) close(shared[i]);
    for (std::size_t at = shared[i]; at < string.length; ++at) {
      path.push_back(static_cast<std::uint32_t>(nodes_.size()));
      nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size()),
                        .depth = static_cast<std::uint32_t>(at + 1),
                        .byte = at < kKeyBytes ? string.byte(at) : static_cast<std::uint8_t>(bytes[at])});
    }
    max_depth_ = std::max(max_depth_, string.length);
    tokens_.push_back(string.token);
  }
  close(0);
  nodes_[0].end = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({.first_token = static_cast<std::uint32_t>(tokens_.size())});
  for (std::uint32_t child = 1; child < nodes_[0].end; child = nodes_[child].end)
    first_level_[nodes_[child].byte] = child;
  find_groups();
}

// Children come behind their parents, so from the back what is below a node is known when it is met.
void TokenTrie::find_groups() {
  constexpr std::uint32_t kMostHeight = 0xFFFF;
  std::vector<OpenCharacter> open;
  struct Below {
    ByteGroups groups = 0;
    TokenKinds kinds = 0;
    std::uint32_t height = 0;
  };
  std::vector<Below> at_depth(max_depth_ + 2);
  for (auto node = static_cast<std::uint32_t>(size()); node-- > 0;) {
    const std::uint32_t depth = nodes_[node].depth;
    Below below = std::exchange(at_depth[depth + 1], {});
    for (const TokenId token : tokens(node)) below.kinds |= kinds_[static_cast<std::size_t>(token)];
    nodes_[node].groups_below = below.groups;
    nodes_[node].kinds = below.kinds;
    nodes_[node].height = static_cast<std::uint16_t>(std::min(kMostHeight, below.height));
    at_depth[depth].kinds |= below.kinds;
    at_depth[depth].groups |= kGroupOfByte[nodes_[node].byte] | below.groups;
    at_depth[depth].height = std::max(at_depth[depth].height, below.height + 1);
    if ((nodes_[node].groups_below & kWideBytes) != 0 && !begins_with_text(node, open))
      nodes_[node].groups_below |= kNotText;
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
      if (at_character && (nodes_[child].groups_below & kNotText) != 0) return false;
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
