// The strings of all tokens as a tree of bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/token_kinds.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Nodes in depth-first order, so that a walk is a scan that jumps over subtrees: the children of node n are n + 1, the
// end of that one, the end of that one, ..., before the end of n. Node 0 is the empty string.
class TokenTrie {
 public:
  // What a walk looks at is together in memory.
  struct Node {
    // Of the bytes behind the node, up to the ends of the tokens there: their groups, kNotText where they do not begin
    // with whole characters, and how many follow at most.
    ByteGroups groups_below = 0;
    TokenKinds kinds = 0;           // Of all tokens of the subtree.
    std::uint32_t end = 0;          // Past its last descendant.
    std::uint32_t first_token = 0;  // In tokens(); those of the subtree reach to the first of node `end`.
    std::uint32_t depth = 0;
    std::uint16_t height = 0;
    std::uint8_t byte = 0;  // The last of its string.
  };

  // Of each token; empty strings stand for tokens that are never text. Several may have the same.
  explicit TokenTrie(std::span<const std::string> strings);

  std::size_t size() const { return nodes_.size() - 1; }
  const Node& operator[](std::uint32_t node) const { return nodes_[node]; }
  // Tokens whose string is that of the node.
  std::span<const TokenId> tokens(std::uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token, tokens_.data() + nodes_[node + 1].first_token};
  }
  // Those and the ones of its descendants.
  std::span<const TokenId> tokens_below(std::uint32_t node) const {
    return {tokens_.data() + nodes_[node].first_token, tokens_.data() + nodes_[nodes_[node].end].first_token};
  }
  // The token with the longest string that the text begins with, if there is one; of several the first.
  struct Longest {
    TokenId token;
    std::size_t length;
  };
  std::optional<Longest> longest_prefix(std::string_view text) const;
  bool is_leaf(std::uint32_t node) const { return nodes_[node].end == node + 1; }
  std::uint32_t first_level(std::uint8_t byte) const { return first_level_[byte]; }  // The node of a byte, or 0.
  std::uint32_t max_depth() const { return max_depth_; }
  const std::vector<TokenKinds>& kinds() const { return kinds_; }  // Of each token.

 private:
  void find_groups();
  struct OpenCharacter {
    std::uint32_t node;
    std::uint32_t low;  // Of the byte that may follow.
    std::uint32_t high;
    std::uint32_t left;  // Bytes of the character that is open.
  };
  bool begins_with_text(std::uint32_t node, std::vector<OpenCharacter>& open) const;

  std::vector<Node> nodes_;  // And one past the end.
  std::vector<TokenId> tokens_;
  std::vector<TokenKinds> kinds_;
  std::array<std::uint32_t, 256> first_level_{};
  std::uint32_t max_depth_ = 0;
};

}  // namespace semfuse
