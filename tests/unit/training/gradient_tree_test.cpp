#include "training/gradient_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/random.h"
#include "support/thread_exchange.h"

namespace semfuse {
namespace {

ParameterLayout some_layout() {
  ParameterLayout layout;
  layout.add("a", {70, 50});
  layout.add("b", {7});
  return layout;
}

// A leaf's gradient: numbers of very different sizes, so that the order of their sum shows.
void write_leaf(std::size_t leaf, ParameterBlock& gradients) {
  const RandomStream random(leaf, RandomPurpose::held_out);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    gradients.data()[i] = static_cast<float>((random.uniform(2 * i) - 0.5) * std::exp(8.0 * random.uniform(2 * i + 1)));
  }
}

// As the header says it, and no faster.
float plain_sum(const LeafRange& node, const std::vector<ParameterBlock>& leaves, std::size_t i) {
  if (node.size() == 1) return leaves[node.first].data()[i];
  const std::size_t middle = node.first + (node.end - node.first) / 2;
  return plain_sum({node.first, middle}, leaves, i) + plain_sum({middle, node.end}, leaves, i);
}

TEST(GradientTree, AddsTheSameTreeForAnyNumberOfRanksAndThreads) {
  const ParameterLayout layout = some_layout();
  for (const std::size_t num_leaves : {1, 2, 3, 5, 8, 13}) {
    std::vector<ParameterBlock> leaves;
    for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) write_leaf(leaf, leaves.emplace_back(layout));
    ParameterBlock expected(layout);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected.data()[i] = plain_sum({0, num_leaves}, leaves, i);
    }
    for (const std::size_t num_ranks : {1, 2, 3, 4, 7}) {
      for (const std::size_t num_threads : {1, 2, 3}) {
        std::vector<int> same(num_ranks);
        std::vector<std::size_t> computed(num_ranks);
        on_ranks(num_ranks, [&](const std::shared_ptr<Exchange>& exchange) {
          ThreadPool pool(num_threads);
          GradientTree tree(layout, *exchange, pool);
          ParameterBlock gradients(layout);
          const std::size_t rank = exchange->rank();
          for (int repeat = 0; repeat < 2; ++repeat) {
            std::vector<double> shares(num_ranks);
            shares[rank] = static_cast<double>(rank + 1);
            GradientTree::Share share;
            for (double& number : shares) share.of_rank.push_back(std::as_writable_bytes(std::span(&number, 1)));
            bool ran = false;
            tree.sum(
                num_leaves,
                [&](std::size_t leaf, ParameterBlock& into) {
                  write_leaf(leaf, into);
                  ++computed[rank];
                },
                gradients, share, [&] { ran = true; });
            same[rank] += ran && std::memcmp(gradients.data(), expected.data(), expected.size() * sizeof(float)) == 0;
            for (std::size_t other = 0; other < num_ranks; ++other) {
              EXPECT_EQ(shares[other], static_cast<double>(other + 1));
            }
          }
        });
        EXPECT_EQ(same, std::vector<int>(num_ranks, 2))
            << num_leaves << " leaves, " << num_ranks << " ranks, " << num_threads << " threads";
        std::size_t total = 0;
        for (const std::size_t count : computed) total += count;
        EXPECT_EQ(total, 2 * num_leaves);
      }
    }
  }
}

TEST(GradientTree, RanksHaveNeighbouringLeavesAndFewNodes) {
  for (std::size_t num_leaves = 1; num_leaves < 40; ++num_leaves) {
    for (std::size_t num_ranks = 1; num_ranks < 9; ++num_ranks) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < num_ranks; ++rank) {
        const LeafRange own = leaves_of_rank(num_leaves, rank, num_ranks);
        EXPECT_EQ(own.first, next);
        EXPECT_LE(own.size(), num_leaves / num_ranks + 1);
        next = own.end;
        std::size_t leaf = own.first;
        for (const LeafRange& node : nodes_within(num_leaves, own)) {
          EXPECT_EQ(node.first, leaf);
          leaf = node.end;
        }
        EXPECT_EQ(leaf, own.end);
        // What 2 or 4 processes hand over is one block each.
        if ((num_ranks == 2 || num_ranks == 4) && num_leaves >= num_ranks) {
          EXPECT_EQ(nodes_within(num_leaves, own).size(), 1u) << num_leaves << " leaves, rank " << rank;
        }
      }
      EXPECT_EQ(next, num_leaves);
    }
  }
}

TEST(Exchange, GathersAndBroadcasts) {
  on_ranks(3, [](const std::shared_ptr<Exchange>& exchange) {
    const std::string own(exchange->rank(), 'x');
    EXPECT_EQ(gather_texts(*exchange, own), (std::vector<std::string>{"", "x", "xx"}));
    EXPECT_EQ(largest(*exchange, exchange->rank() == 1 ? 7 : -1), 7);
    std::string text = exchange->rank() == 0 ? "from the first" : "";
    broadcast(*exchange, text);
    EXPECT_EQ(text, "from the first");
    EXPECT_GE(exchange->seconds_waited(), 0.0);
  });
  LocalExchange alone;
  EXPECT_EQ(gather_texts(alone, "me"), std::vector<std::string>{"me"});
  EXPECT_EQ(largest(alone, 3), 3);
}

}  // namespace
}  // namespace semfuse
