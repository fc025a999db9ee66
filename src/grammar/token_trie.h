// The strings of all tokens as a tree of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/huge_pages.h"
#include "grammar/token_kinds.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// The children of a node stand together, ascending, and behind it; those of its first child follow soon after. So a
// walk finds what it passes over, most of what it looks at, in memory that it reads anyway. Node 0 is the empty string.
class TokenTrie {
 public:
  static constexpr int kFirstByteBit = 46;
  static constexpr TokenKinds kByteOfKey = TokenKinds{0xFF} << kFirstByteBit;

  struct alignas(32) Node {
    // The kinds of all tokens of the subtree, and among their bits the last byte of its string.
    TokenKinds key = 0;
    // Of the bytes behind the node, up to the ends of the tokens there: their groups, kNotText where they do not begin
    // with whole characters.
    ByteGroups groups_below = 0;
    std::uint32_t first_child = 0;
    std::uint32_t first_token = 0;  // In tokens(); its own come first, then those of its descendants.
    std::uint32_t end_token = 0;
    std::uint16_t num_children = 0;
    std::uint8_t height = 0;  // How many bytes follow at most; kMostHeight if they are not fewer.

    std::uint8_t byte() const { return static_cast<std::uint8_t>(key >> kFirstByteBit); }
  };
  static constexpr std::uint8_t kMostHeight = 255;

  // Of each token; empty strings stand for tokens that are never text. Several may have the same.
  explicit TokenTrie(std::span<const std::string> strings);

  std::size_t size() const { return nodes_.size(); }
  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  bool is_leaf(std::uint32_t node) const { return nodes_[node].num_children == 0; }
  std::uint32_t end_of_children(std::uint32_t node) const {
    return nodes_[node].first_child + nodes_[node].num_children;
  }
  // Tokens whose string is that of the node.
  std::span<const TokenId> tokens(std::uint32_t node) const {
    const Node& here = nodes_[node];
    const std::uint32_t end = is_leaf(node) ? here.end_token : nodes_[here.first_child].first_token;
    return {tokens_.data() + here.first_token, tokens_.data() + end};
  }
  // Those and the ones of its descendants.
  std::span<const TokenId> tokens_below(std::uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token, tokens_.data() + nodes_[node].end_token};
  }
  std::span<const TokenId> tokens_between(std::uint32_t first, std::uint32_t end) const {
    return {tokens_.data() + first, tokens_.data() + end};
  }
  // Asks the memory for a node that will be needed soon.
  void fetch(std::uint32_t node) const { __builtin_prefetch(&nodes_[node]); }
  // The token with the longest string that the text begins with, if there is one; of several the first.
  struct Longest {
    TokenId token;
    std::size_t length;
  };
  std::optional<Longest> longest_prefix(std::string_view text) const;
  std::uint32_t first_level(std::uint8_t byte) const { return first_level_[byte]; }  // The node of a byte, or 0.
  std::uint32_t max_depth() const { return max_depth_; }
  const KindsOfTokens& kinds() const { return kinds_; }

 private:
  void look_below();
  struct OpenCharacter {
    std::uint32_t node;
    std::uint32_t low;  // Of the byte that may follow.
    std::uint32_t high;
    std::uint32_t left;  // Bytes of the character that is open.
  };
  bool begins_with_text(std::uint32_t node, std::vector<OpenCharacter>& open) const;

  std::vector<Node, HugePageAllocator<Node>> nodes_;
  std::vector<TokenId> tokens_;
  KindsOfTokens kinds_;
  std::array<std::uint32_t, 256> first_level_{};
  std::uint32_t max_depth_ = 0;
};

}  // namespace semfuse
