// The order in which the gradients of a batch are added: a binary tree over its leaves, which are runs of sentences.
// Leaves and tree depend on the batch alone, so that any number of processes that share it gets the same bits.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/parameter_block.h"
#include "core/thread_pool.h"
#include "training/exchange.h"

namespace semfuse {

// A node of the tree, as the leaves below it; its children are its halves.
struct LeafRange {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - first; }
  bool is_leaf() const { return size() == 1; }
  LeafRange left() const { return {first, first + size() / 2}; }
  LeafRange right() const { return {first + size() / 2, end}; }
  bool contains(const LeafRange& other) const { return first <= other.first && other.end <= end; }
  bool operator==(const LeafRange&) const = default;
};

// The leaves of a process: neighbours, of each process about as many. There may be none.
LeafRange leaves_of_rank(std::size_t num_leaves, std::size_t rank, std::size_t num_ranks);

// The largest nodes that have leaves of this range only, from the left.
std::vector<LeafRange> nodes_within(std::size_t num_leaves, const LeafRange& range);

// The sum of leaf(i) over a node that has one leaf or more.
template <class T, class Leaf>
T tree_sum(const LeafRange& node, const Leaf& leaf) {
  if (node.is_leaf()) return leaf(node.first);
  T sum = tree_sum<T>(node.left(), leaf);
  sum += tree_sum<T>(node.right(), leaf);
  return sum;
}

// Adds the gradients of a batch, of which every process computes those of its own leaves. Owns the memory for that,
// which is nothing while batches have one leaf and there is one process.
class GradientTree {
 public:
  // All of them must outlive it.
  GradientTree(const ParameterLayout& layout, Exchange& exchange, ThreadPool& pool)
      : layout_(layout), exchange_(exchange), pool_(pool) {}

  // Writes the gradient of one leaf over what the block holds.
  using ComputeLeaf = std::function<void(std::size_t leaf, ParameterBlock& gradients)>;

  // gradients = the sum over all leaves, at least one. Each process calls it with the same number of leaves; compute is
  // called for its own, in order. `share` is added to the messages: sent by the process to all others when its leaves
  // are done, received of each other process. `meanwhile` runs while messages are on their way.
  struct Share {
    std::vector<std::span<std::byte>> of_rank;  // The own one is sent, the others are written.
  };
  void sum(std::size_t num_leaves, const ComputeLeaf& compute, ParameterBlock& gradients, const Share& share = {},
           const std::function<void()>& meanwhile = {});

 private:
  // A node that one process hands over.
  struct Part {
    LeafRange node;
    const float* numbers;  // Of the own piece; the own process' are those of its whole block.
  };

  void compute_node(const LeafRange& node, const ComputeLeaf& compute, ParameterBlock& into, std::size_t depth);
  void add(const ParameterBlock& from, ParameterBlock& into);
  void add_parts(const LeafRange& root, const std::vector<Part>& parts, float* sum, std::size_t count);

  const ParameterLayout& layout_;
  Exchange& exchange_;
  ThreadPool& pool_;
  std::vector<ParameterBlock> scratch_;  // By depth.
  std::vector<ParameterBlock> parts_;    // Of this process, but for the first, which is the result's memory.
  AlignedFloats received_;
};

}  // namespace semfuse
