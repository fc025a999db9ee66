#include "model/prefix_tree.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "core/random.h"

namespace semfuse {

namespace {

constexpr std::size_t kNodeOverhead = 128;  // Bytes beside the floats, about.

std::uint64_t hash_of(PrefixTree::Node parent, TokenId token, std::span<const float> features) {
  std::uint64_t hash = mix_bits(std::uint64_t{parent} << 32 | static_cast<std::uint32_t>(token));
  for (const float feature : features) hash = mix_bits(hash + std::bit_cast<std::uint32_t>(feature));
  return hash;
}

}  // namespace

PrefixTree::PrefixTree(std::size_t num_features, std::size_t num_numbers, std::size_t most_bytes)
    : num_features_(num_features),
      num_numbers_(num_numbers),
      capacity_(most_bytes / ((num_features + num_numbers) * sizeof(float) + kNodeOverhead)) {}

void PrefixTree::clear() {
  nodes_.clear();
  index_.clear();
}

std::optional<PrefixTree::Node> PrefixTree::find(Node parent, TokenId token, std::span<const float> features) const {
  assert(features.size() == num_features_);
  const auto found = index_.find(hash_of(parent, token, features));
  if (found == index_.end()) return std::nullopt;
  const Content& content = nodes_[found->second - 1];
  const bool same = content.parent == parent && content.token == token &&
                    std::equal(features.begin(), features.end(), content.features_and_numbers.begin());
  return same ? std::optional(found->second) : std::nullopt;
}

PrefixTree::Node PrefixTree::add(Node parent, TokenId token, std::span<const float> features,
                                 std::span<const float> numbers) {
  assert(room() > 0 && features.size() == num_features_ && numbers.size() == num_numbers_);
  Content& content = nodes_.emplace_back(Content{.parent = parent, .token = token, .features_and_numbers = {}});
  content.features_and_numbers.reserve(num_features_ + num_numbers_);
  content.features_and_numbers.assign(features.begin(), features.end());
  content.features_and_numbers.insert(content.features_and_numbers.end(), numbers.begin(), numbers.end());
  const auto node = static_cast<Node>(nodes_.size());
  index_.emplace(hash_of(parent, token, features), node);
  return node;
}

std::span<const float> PrefixTree::numbers(Node node) const {
  assert(node != kRoot);
  return std::span(nodes_[node - 1].features_and_numbers).subspan(num_features_);
}

}  // namespace semfuse
