#include "model/prefix_tree.h"

#include <gtest/gtest.h>

#include <array>

namespace semfuse {
namespace {

constexpr std::array<float, 2> kFeatures = {0.5f, 1.0f};
constexpr std::array<float, 3> kNumbers = {1.0f, 2.0f, 3.0f};

TEST(PrefixTree, FindsWhatWasAdded) {
  PrefixTree tree(2, 3, 100'000);
  EXPECT_EQ(tree.find(PrefixTree::kRoot, 5, kFeatures), std::nullopt);
  const PrefixTree::Node first = tree.add(PrefixTree::kRoot, 5, kFeatures, kNumbers);
  const PrefixTree::Node second = tree.add(first, 5, kFeatures, std::array{4.0f, 5.0f, 6.0f});
  EXPECT_EQ(tree.find(PrefixTree::kRoot, 5, kFeatures), first);
  EXPECT_EQ(tree.find(first, 5, kFeatures), second);
  EXPECT_EQ(tree.numbers(first)[0], 1.0f);
  EXPECT_EQ(tree.numbers(second)[2], 6.0f);
}

TEST(PrefixTree, TokensWithOtherFeaturesAreOthers) {
  PrefixTree tree(2, 3, 100'000);
  tree.add(PrefixTree::kRoot, 5, kFeatures, kNumbers);
  EXPECT_EQ(tree.find(PrefixTree::kRoot, 5, std::array{0.5f, 0.0f}), std::nullopt);
  EXPECT_EQ(tree.find(PrefixTree::kRoot, 6, kFeatures), std::nullopt);
}

TEST(PrefixTree, HoldsWhatItMay) {
  PrefixTree tree(2, 3, 1000);
  EXPECT_EQ(tree.capacity(), 1000 / (5 * sizeof(float) + 128));
  PrefixTree::Node node = PrefixTree::kRoot;
  while (tree.room() > 0) node = tree.add(node, 1, kFeatures, kNumbers);
  tree.clear();
  EXPECT_EQ(tree.room(), tree.capacity());
  EXPECT_EQ(tree.find(PrefixTree::kRoot, 1, kFeatures), std::nullopt);
}

}  // namespace
}  // namespace semfuse
