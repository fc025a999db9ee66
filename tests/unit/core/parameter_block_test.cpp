#include "core/parameter_block.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace semfuse {
namespace {

ParameterLayout three_parameters() {
  ParameterLayout layout;
  layout.add("table", {3, 5});
  layout.add("bias", {17});
  layout.add("weight", {4, 4});
  return layout;
}

TEST(ParameterLayout, PlacesParametersAtWholeLinesInOrder) {
  const ParameterLayout layout = three_parameters();
  ASSERT_EQ(layout.entries().size(), 3u);
  EXPECT_EQ(layout.entries()[0].offset, 0u);
  EXPECT_EQ(layout.entries()[1].offset, 16u);
  EXPECT_EQ(layout.entries()[2].offset, 48u);
  EXPECT_EQ(layout.block_size(), 64u);
  EXPECT_EQ(layout.parameter_count(), 15u + 17u + 16u);
}

TEST(ParameterLayout, FindsByNameAndId) {
  ParameterLayout layout = three_parameters();
  const ParameterId id = layout.add("last", {2, 3});
  EXPECT_EQ(layout[id].name, "last");
  EXPECT_EQ(layout[id].size, 6u);
  ASSERT_NE(layout.find("bias"), nullptr);
  EXPECT_EQ(layout.find("bias")->size, 17u);
  EXPECT_EQ(layout.find("bia"), nullptr);
  EXPECT_EQ(layout.find(""), nullptr);
}

TEST(ParameterBlock, BeginsWithZerosAndIsAligned) {
  const ParameterBlock block(three_parameters());
  ASSERT_EQ(block.size(), 64u);
  EXPECT_EQ(std::bit_cast<std::uintptr_t>(block.data()) % 64, 0u);
  for (std::size_t i = 0; i < block.size(); ++i) EXPECT_EQ(block.data()[i], 0.0f);
}

TEST(ParameterBlock, ViewsSeeTheSameNumbers) {
  const ParameterLayout layout = three_parameters();
  ParameterBlock block(layout);
  for (std::size_t i = 0; i < block.size(); ++i) block.data()[i] = static_cast<float>(i);
  const ParameterBlock& read = block;
  EXPECT_EQ(read.matrix(*layout.find("table"))(2, 4), 14.0f);
  EXPECT_EQ(read.vector(*layout.find("bias"))[16], 32.0f);
  EXPECT_EQ(read.matrix(*layout.find("weight")).row(1)[3], 48.0f + 7.0f);
  block.matrix (*layout.find("weight"))(0, 0) = -1.0f;
  EXPECT_EQ(read.data()[48], -1.0f);
}

TEST(ParameterBlock, CopiesAreIndependent) {
  const ParameterLayout layout = three_parameters();
  ParameterBlock a(layout);
  const ParameterBlock b = a;
  a.data()[0] = 1.0f;
  EXPECT_EQ(b.data()[0], 0.0f);
}

}  // namespace
}  // namespace semfuse
