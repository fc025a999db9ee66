#include "core/random_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace semfuse {
namespace {

TEST(RandomOrder, HoldsEveryIndexOnce) {
  for (const std::uint64_t size : {1, 2, 3, 4, 5, 17, 64, 1000, 4097}) {
    std::vector<int> seen(size);
    const RandomOrder order(size, 7, 1);
    for (std::uint64_t place = 0; place < size; ++place) ++seen.at(order(place));
    for (const int count : seen) ASSERT_EQ(count, 1) << size;
  }
}

TEST(RandomOrder, DependsOnSeedAndStep) {
  const RandomOrder one(1000, 7, 1);
  const RandomOrder other_seed(1000, 8, 1);
  const RandomOrder other_step(1000, 7, 2);
  int same_seed = 0;
  int same_step = 0;
  int in_place = 0;
  for (std::uint64_t place = 0; place < 1000; ++place) {
    same_seed += one(place) == other_seed(place) ? 1 : 0;
    same_step += one(place) == other_step(place) ? 1 : 0;
    in_place += one(place) == place ? 1 : 0;
  }
  EXPECT_LT(same_seed, 12);
  EXPECT_LT(same_step, 12);
  EXPECT_LT(in_place, 12);
}

}  // namespace
}  // namespace semfuse
