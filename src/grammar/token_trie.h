// The strings of all tokens as a tree of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/byte_groups.h"
#include "semfuse/vocabulary.h"

namespace semfuse {

// Nodes in depth-first order, so that a walk is a scan that jumps over subtrees: the children of node n are n + 1, the
// end of that one, the end of that one, ..., before the end of n. Node 0 is the empty string.
class TokenTrie {
 public:
  struct Node {
    std::uint32_t end = 0;          // Past its last descendant.
    std::uint32_t first_token = 0;  // In tokens(); those of the subtree reach to the first of node `end`.
    std::uint32_t depth = 0;
    std::uint8_t byte = 0;  // The last of its string.
  };

  struct Entry {
    std::string_view string;  // Not empty.
    TokenId token = 0;
  };

  // Empty strings stand for tokens that are never text.
  explicit TokenTrie(std::span<const std::string> strings);
  // Several tokens may have the same string.
  explicit TokenTrie(std::vector<Entry> entries);

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
  // Of the bytes behind a node, up to the ends of the tokens there: their groups, kNotText where they do not begin with
  // whole characters, and how many follow at most.
  ByteGroups groups_below(std::uint32_t node) const { return groups_below_[node]; }
  std::uint32_t height(std::uint32_t node) const { return heights_[node]; }
  bool is_leaf(std::uint32_t node) const { return nodes_[node].end == node + 1; }
  std::uint32_t max_depth() const { return max_depth_; }

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
  std::vector<ByteGroups> groups_below_;
  std::vector<std::uint16_t> heights_;
  std::uint32_t max_depth_ = 0;
};

}  // namespace semfuse
