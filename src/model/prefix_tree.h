// What a causal model computed of the beginnings of texts, so that the next text that begins alike need not compute it
// again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "semfuse/vocabulary.h"

namespace semfuse {

// A tree of tokens, each with its feature row and the numbers that the model computed there. One thread at a time.
class PrefixTree {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;  // Before the first token; has no numbers.

  // Holds at most about `most_bytes`, for tokens of `num_features` and `num_numbers` floats.
  PrefixTree(std::size_t num_features, std::size_t num_numbers, std::size_t most_bytes);

  std::size_t capacity() const { return capacity_; }  // In tokens.
  std::size_t room() const { return capacity_ - nodes_.size(); }
  void clear();

  // The token that follows `parent`; nothing if the tree lacks it.
  std::optional<Node> find(Node parent, TokenId token, std::span<const float> features) const;
  // Adds it. There must be room, and it must not be there already.
  Node add(Node parent, TokenId token, std::span<const float> features, std::span<const float> numbers);

  std::span<const float> numbers(Node node) const;

 private:
  struct Content {
    Node parent;
    TokenId token;
    std::vector<float> features_and_numbers;
  };

  std::size_t num_features_;
  std::size_t num_numbers_;
  std::size_t capacity_;
  std::vector<Content> nodes_;                     // Node i is nodes_[i - 1].
  std::unordered_map<std::uint64_t, Node> index_;  // By hash; the first of equal hashes stays.
};

}  // namespace semfuse
