#include "grammar/token_trie.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

namespace semfuse {
namespace {

constexpr std::size_t kKeyBytes = 16;

static_assert(std::ranges::none_of(kGroupOfByte, [](ByteGroups group) { return (group & TokenTrie::kByteOfKey) != 0; }),
              "a byte stands where no kind does");

template <typename Word>
std::uint64_t big_endian_at(const char* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::little)
    word = sizeof word == 8 ? static_cast<Word>(__builtin_bswap64(word)) : static_cast<Word>(__builtin_bswap32(word));
  return word;
}

std::uint64_t byte_at(std::string_view bytes, std::size_t index) {
  return std::uint64_t{static_cast<std::uint8_t>(bytes[index])} << (56 - 8 * index);
}

// Up to eight bytes as a number that is ordered as they are. Less than eight by loads that overlap.
std::uint64_t as_number(std::string_view bytes) {
  const std::size_t size = bytes.size();
  if (size >= 8) return big_endian_at<std::uint64_t>(bytes.data());
  if (size >= 4) {
    return big_endian_at<std::uint32_t>(bytes.data()) << 32 | big_endian_at<std::uint32_t>(bytes.data() + size - 4)
                                                                  << (8 * (8 - size));
  }
  return size == 0 ? 0 : byte_at(bytes, 0) | byte_at(bytes, size / 2) | byte_at(bytes, size - 1);
}

// A string in the order of all. Most differ in their first bytes, so the string itself, somewhere in memory, is rarely
// looked at.
struct SortedString {
  std::uint64_t bytes;  // The first.
  std::uint64_t more;   // Those behind them.
  std::uint32_t length;
  TokenId token;

  std::uint8_t byte(std::size_t index) const {
    return static_cast<std::uint8_t>((index < 8 ? bytes : more) >> (56 - 8 * (index % 8)));
  }
};

using SortedStrings = std::vector<SortedString, HugePageAllocator<SortedString>>;

SortedString sorted_string(std::string_view string, std::size_t token) {
  return {as_number(string), string.size() > 8 ? as_number(string.substr(8)) : 0,
          static_cast<std::uint32_t>(string.size()), static_cast<TokenId>(token)};
}

// By strings, as unsigned bytes; what is equal stays in its order. If they are many, they are dealt out first by two
// bytes.
SortedStrings sort_strings(std::span<const std::string> strings) {
  const std::size_t pile_bits = strings.size() < 5'000 ? 0 : 16;
  const std::size_t num_piles = std::size_t{1} << pile_bits;
  const auto pile_of = [&](std::uint64_t bytes) { return pile_bits == 0 ? 0 : bytes >> (64 - pile_bits); };
  // Where each pile ends; while strings are dealt out, where its next goes.
  std::vector<std::uint32_t> ends(num_piles + 1);
  for (const std::string& string : strings) {
    if (!string.empty()) ++ends[pile_of(byte_at(string, 0) | (string.size() > 1 ? byte_at(string, 1) : 0)) + 1];
  }
  for (std::size_t pile = 0; pile < num_piles; ++pile) ends[pile + 1] += ends[pile];
  SortedStrings sorted(ends.back());
  for (std::size_t token = 0; token < strings.size(); ++token) {
    if (strings[token].empty()) continue;
    const SortedString string = sorted_string(strings[token], token);
    sorted[ends[pile_of(string.bytes)]++] = string;
  }
  const auto string_of = [&](const SortedString& one) -> const std::string& {
    return strings[static_cast<std::size_t>(one.token)];
  };
  const auto comes_before = [&](const SortedString& a, const SortedString& b) {
    if (a.bytes != b.bytes) return a.bytes < b.bytes;
    if (a.more != b.more) return a.more < b.more;
    if (a.length > kKeyBytes && b.length > kKeyBytes) {
      const int order = string_of(a).compare(string_of(b));
      if (order != 0) return order < 0;
    } else if (a.length != b.length) {
      return a.length < b.length;  // One is what the other begins with.
    }
    return a.token < b.token;
  };
  std::uint32_t begin = 0;
  for (std::size_t pile = 0; pile < num_piles; ++pile) {
    if (ends[pile] - begin > 1) std::sort(sorted.begin() + begin, sorted.begin() + ends[pile], comes_before);
    begin = ends[pile];
  }
  return sorted;
}

// Bytes that two strings begin with alike.
std::size_t shared_bytes(std::span<const std::string> strings, const SortedString& a, const SortedString& b) {
  const std::size_t shorter = std::min(a.length, b.length);
  const std::uint64_t differ = a.bytes ^ b.bytes;
  const auto first =
      static_cast<std::size_t>((differ != 0 ? std::countl_zero(differ) : 64 + std::countl_zero(a.more ^ b.more)) / 8);
  if (first < kKeyBytes || shorter <= kKeyBytes) return std::min(first, shorter);
  const std::string& one = strings[static_cast<std::size_t>(a.token)];
  const std::string& other = strings[static_cast<std::size_t>(b.token)];
  std::size_t shared = kKeyBytes;
  while (shared < shorter && one[shared] == other[shared]) ++shared;
  return shared;
}

}  // namespace

TokenTrie::TokenTrie(std::span<const std::string> strings) : kinds_(strings) {
  const SortedStrings sorted = sort_strings(strings);
  std::vector<std::uint32_t> shared(sorted.size());  // Of each string and the one before.
  std::size_t num_nodes = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    max_depth_ = std::max(max_depth_, sorted[i].length);
    if (i > 0) shared[i] = static_cast<std::uint32_t>(shared_bytes(strings, sorted[i - 1], sorted[i]));
    num_nodes += sorted[i].length - shared[i];
  }
  // By the order in which a walk, depth first, meets the nodes: each at the first string that goes through it.
  std::vector<std::uint16_t> num_children(num_nodes);
  std::vector<std::uint32_t> path(max_depth_ + 1);  // Of the last string's prefixes.
  std::uint32_t num_met = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t at = shared[i]; at < sorted[i].length; ++at) {
      ++num_children[path[at]];
      path[at + 1] = num_met++;
    }
  }
  nodes_.resize(num_nodes);
  tokens_.reserve(sorted.size());
  std::vector<std::uint32_t> next(max_depth_ + 1);  // By depth: where the next child goes.
  std::uint32_t free = 1;
  Node* last = nodes_.data();
  const auto place_children = [&](Node& node, std::size_t depth, std::uint16_t count) {
    node.first_child = next[depth] = free;
    node.num_children = count;
    free += count;
  };
  place_children(nodes_[0], 0, num_children[0]);
  num_met = 1;
  for (std::uint32_t i = 0; i < sorted.size(); ++i) {
    const SortedString& string = sorted[i];
    last->end_token = i;  // Of a leaf; look_below() finds those of others.
    for (std::size_t at = shared[i]; at < string.length; ++at) {
      const std::uint8_t byte = at < kKeyBytes
                                    ? string.byte(at)
                                    : static_cast<std::uint8_t>(strings[static_cast<std::size_t>(string.token)][at]);
      last = &nodes_[next[at]++];
      last->key = TokenKinds{byte} << kFirstByteBit;
      last->first_token = i;
      place_children(*last, at + 1, num_children[num_met++]);
    }
    tokens_.push_back(string.token);
  }
  last->end_token = static_cast<std::uint32_t>(tokens_.size());
  for (std::uint32_t child = nodes_[0].first_child; child < end_of_children(0); ++child)
    first_level_[nodes_[child].byte()] = child;
  look_below();
}

// Children come behind their parents, so from the back what is below a node is known when it is met.
void TokenTrie::look_below() {
  std::vector<OpenCharacter> open;
  for (auto index = static_cast<std::uint32_t>(size()); index-- > 0;) {
    Node& node = nodes_[index];
    TokenKinds kinds = 0;
    for (std::uint32_t child = node.first_child; child < end_of_children(index); ++child) {
      const Node& below = nodes_[child];
      node.groups_below |= kGroupOfByte[below.byte()] | (below.groups_below & ~kNotText);
      kinds |= below.key & ~kByteOfKey;
      node.height = std::max<std::uint8_t>(node.height, below.height == kMostHeight ? kMostHeight : below.height + 1);
      node.end_token = below.end_token;
    }
    for (const TokenId token : tokens(index)) kinds |= kinds_[token];
    node.key |= kinds;
    if ((node.groups_below & kWideBytes) != 0 && !begins_with_text(index, open)) node.groups_below |= kNotText;
  }
}

// Whether what follows a node is valid UTF-8, but for a last character that may be cut off.
bool TokenTrie::begins_with_text(std::uint32_t node, std::vector<OpenCharacter>& open) const {
  open.assign(1, {node, 0, 0, 0});
  while (!open.empty()) {
    const OpenCharacter place = open.back();
    open.pop_back();
    for (std::uint32_t child = nodes_[place.node].first_child; child < end_of_children(place.node); ++child) {
      const std::uint32_t byte = nodes_[child].byte();
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
    const auto first = nodes_.begin() + nodes_[node].first_child;
    const auto last = first + nodes_[node].num_children;
    const auto child =
        std::lower_bound(first, last, byte, [](const Node& one, std::uint8_t b) { return one.byte() < b; });
    if (child == last || child->byte() != byte) break;
    node = static_cast<std::uint32_t>(child - nodes_.begin());
    if (!tokens(node).empty()) longest = {.token = tokens(node)[0], .length = i + 1};
  }
  return longest;
}

}  // namespace semfuse
