#include "training/gradient_tree.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace semfuse {
namespace {

constexpr std::size_t kTask = std::size_t{1} << 14;  // Numbers that one task adds.
constexpr std::size_t kLine = 16;                    // Floats of a cache line.

struct Piece {
  std::size_t first;
  std::size_t count;
};

// The part of a block that a process adds for all.
Piece piece_of_rank(std::size_t block_size, std::size_t rank, std::size_t num_ranks) {
  const auto begin = [&](std::size_t r) {
    return r == num_ranks ? block_size : block_size * r / num_ranks / kLine * kLine;
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

void add_to(std::span<float> sum, std::span<const float> more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

void collect_nodes(const LeafRange& node, const LeafRange& range, std::vector<LeafRange>& nodes) {
  if (node.end <= range.first || range.end <= node.first) return;
  if (range.contains(node)) {
    nodes.push_back(node);
    return;
  }
  collect_nodes(node.left(), range, nodes);
  collect_nodes(node.right(), range, nodes);
}

std::span<const std::byte> bytes_of_piece(const float* block, const Piece& piece) {
  return std::as_bytes(std::span(block + piece.first, piece.count));
}

}  // namespace

LeafRange leaves_of_rank(std::size_t num_leaves, std::size_t rank, std::size_t num_ranks) {
  return {num_leaves * rank / num_ranks, num_leaves * (rank + 1) / num_ranks};
}

std::vector<LeafRange> nodes_within(std::size_t num_leaves, const LeafRange& range) {
  std::vector<LeafRange> nodes;
  if (range.size() > 0) collect_nodes({0, num_leaves}, range, nodes);
  return nodes;
}

void GradientTree::add(const ParameterBlock& from, ParameterBlock& into) {
  pool_.run((into.size() + kTask - 1) / kTask, [&](std::size_t index, std::size_t) {
    const std::size_t first = index * kTask;
    const std::size_t count = std::min(kTask, into.size() - first);
    add_to({into.data() + first, count}, {from.data() + first, count});
  });
}

void GradientTree::compute_node(const LeafRange& node, const ComputeLeaf& compute, ParameterBlock& into,
                                std::size_t depth) {
  if (node.is_leaf()) {
    compute(node.first, into);
    exchange_.poll();
    return;
  }
  compute_node(node.left(), compute, into, depth);
  compute_node(node.right(), compute, scratch_[depth], depth + 1);
  add(scratch_[depth], into);
}

void GradientTree::add_parts(const LeafRange& root, const std::vector<Part>& parts, float* sum, std::size_t count) {
  // A small block at a time, so that what is between two additions stays in the cache.
  constexpr std::size_t kBlock = 2048;
  const std::size_t depth = std::bit_width(root.size()) + 1;
  std::vector<float> scratch(pool_.num_threads() * depth * kBlock);
  pool_.run((count + kBlock - 1) / kBlock, [&](std::size_t index, std::size_t worker) {
    const std::size_t first = index * kBlock;
    const std::size_t size = std::min(kBlock, count - first);
    std::size_t next = 0;  // Parts are met from the left, as they are listed.
    const auto visit = [&](const auto& self, const LeafRange& node, float* own) -> const float* {
      if (parts[next].node == node) return parts[next++].numbers + first;
      const float* left = self(self, node.left(), own);
      const float* right = self(self, node.right(), own + kBlock);
      for (std::size_t i = 0; i < size; ++i) own[i] = left[i] + right[i];
      return own;
    };
    const float* result = visit(visit, root, scratch.data() + worker * depth * kBlock);
    if (result != sum + first) std::copy_n(result, size, sum + first);
  });
}

void GradientTree::sum(std::size_t num_leaves, const ComputeLeaf& compute, ParameterBlock& gradients,
                       const Share& share, const std::function<void()>& meanwhile) {
  assert(num_leaves > 0);
  const std::size_t rank = exchange_.rank();
  const std::size_t num_ranks = exchange_.size();
  const LeafRange own = leaves_of_rank(num_leaves, rank, num_ranks);
  const std::size_t depth = own.size() == 0 ? 0 : std::bit_width(own.size() - 1);
  while (scratch_.size() < depth) scratch_.emplace_back(layout_);
  if (num_ranks == 1) {
    compute_node(own, compute, gradients, 0);
    if (meanwhile) meanwhile();
    return;
  }

  const Piece mine = piece_of_rank(gradients.size(), rank, num_ranks);
  std::vector<std::vector<LeafRange>> nodes;  // By rank.
  std::size_t num_received = 0;
  for (std::size_t other = 0; other < num_ranks; ++other) {
    nodes.push_back(nodes_within(num_leaves, leaves_of_rank(num_leaves, other, num_ranks)));
    if (other != rank) num_received += nodes.back().size();
  }
  while (parts_.size() + 1 < nodes[rank].size()) parts_.emplace_back(layout_);
  if (received_.size() < num_received * mine.count) received_ = AlignedFloats(num_received * mine.count);

  // What others hand over may arrive while the own leaves are computed.
  std::vector<Part> parts;
  std::vector<Exchange::Incoming> receives;
  float* place = received_.data();
  for (std::size_t other = 0; other < num_ranks; ++other) {
    for (std::size_t i = 0; i < nodes[other].size(); ++i) {
      if (other == rank) {
        parts.push_back({nodes[rank][i], (i == 0 ? gradients : parts_[i - 1]).data() + mine.first});
        continue;
      }
      parts.push_back({nodes[other][i], place});
      receives.push_back({other, std::as_writable_bytes(std::span(place, mine.count))});
      place += mine.count;
    }
    if (other != rank && !share.of_rank.empty()) receives.push_back({other, share.of_rank[other]});
  }
  exchange_.start({}, receives);

  std::vector<Exchange::Outgoing> sends;
  for (std::size_t i = 0; i < nodes[rank].size(); ++i) {
    ParameterBlock& into = i == 0 ? gradients : parts_[i - 1];
    compute_node(nodes[rank][i], compute, into, 0);
    sends.clear();
    // Each process begins with the one after it, so that not all send to the same.
    for (std::size_t step = 1; step < num_ranks; ++step) {
      const std::size_t other = (rank + step) % num_ranks;
      sends.push_back({other, bytes_of_piece(into.data(), piece_of_rank(gradients.size(), other, num_ranks))});
    }
    exchange_.start(sends, {});
  }
  sends.clear();
  for (std::size_t other = 0; other < num_ranks && !share.of_rank.empty(); ++other) {
    if (other != rank) sends.push_back({other, share.of_rank[rank]});
  }
  exchange_.start(sends, {});
  if (meanwhile) meanwhile();
  exchange_.wait();
  add_parts({0, num_leaves}, parts, gradients.data() + mine.first, mine.count);

  sends.clear();
  receives.clear();
  for (std::size_t step = 1; step < num_ranks; ++step) {
    const std::size_t to = (rank + step) % num_ranks;
    const std::size_t from = (rank + num_ranks - step) % num_ranks;
    const Piece theirs = piece_of_rank(gradients.size(), from, num_ranks);
    sends.push_back({to, bytes_of_piece(gradients.data(), mine)});
    receives.push_back({from, std::as_writable_bytes(std::span(gradients.data() + theirs.first, theirs.count))});
  }
  exchange_.start(sends, receives);
  exchange_.wait();
}

}  // namespace semfuse
