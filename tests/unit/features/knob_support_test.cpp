#include "features/knob_support.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Knob kSize = parse_knob("size: scalar of length from 8 to 16");

std::string missing(const std::vector<double>& values, double asked) {
  return missing_support(kSize, {{"size", values}}, {"size", {asked}}).value_or("");
}

TEST(KnobSupport, IsTheValuesInTheRange) {
  EXPECT_THAT(support_of(kSize, {16, 8, 8.01, 3, 8, 16, 17, 12}), ElementsAre(8, 12, 16));
  EXPECT_THAT(support_of(parse_knob("p: probability of polarity"), {0.5}), IsEmpty());
}

TEST(KnobSupport, NamesTheGapThatASettingLiesIn) {
  EXPECT_EQ(missing({8, 16}, 12), "no training sentence has a size between 8 and 16");
  EXPECT_EQ(missing({8, 16}, 15), "no training sentence has a size between 8 and 16");
  EXPECT_EQ(missing({8, 16}, 8), "");
  EXPECT_EQ(missing({8, 16}, 16), "");
  EXPECT_EQ(missing({8, 9.5, 11, 12.5, 14, 15.5}, 10), "");
  EXPECT_EQ(missing({8, 9.5, 11}, 13), "no training sentence has a size above 11");
  EXPECT_EQ(missing({11, 12.5, 14, 16}, 8), "no training sentence has a size below 11");
  EXPECT_EQ(missing({8.5, 10, 12, 13.5, 15.5}, 8), "");
  EXPECT_EQ(missing({}, 9), "no training sentence has a size from 8 to 16");
}

TEST(KnobSupport, ListsAllGaps) {
  EXPECT_THAT(support_gaps(kSize, {{"size", {8, 16}}}),
              ElementsAre("no training sentence has a size between 8 and 16"));
  EXPECT_THAT(
      support_gaps(kSize, {{"size", {10, 12.5}}}),
      ElementsAre("no training sentence has a size below 10", "no training sentence has a size between 10 and 12.5",
                  "no training sentence has a size above 12.5"));
  EXPECT_THAT(support_gaps(kSize, {{"size", {8, 9.5, 11, 12.5, 14, 15.5}}}), IsEmpty());
}

// Between 3 and 4 stars there is nothing by the nature of stars; that there is none with 2 is worth a word.
TEST(KnobSupport, WholeNumbersHaveNoGapsBetweenThem) {
  const Knob stars = parse_knob("stars: scalar of column stars from 1 to 5");
  EXPECT_THAT(support_gaps(stars, {{"stars", {1, 2, 3, 4, 5}}}), IsEmpty());
  EXPECT_THAT(support_gaps(stars, {{"stars", {1, 3, 4, 5}}}),
              ElementsAre("no training sentence has a stars between 1 and 3"));
  EXPECT_THAT(support_gaps(stars, {{"stars", {2, 3, 4, 5}}}), ElementsAre("no training sentence has a stars below 2"));
  EXPECT_THAT(support_gaps(stars, {{"stars", {1, 5}}}),
              ElementsAre("no training sentence has a stars between 1 and 5"));
  EXPECT_EQ(support_gaps(stars, {{"stars", {1, 2, 3.5, 4.5, 5}}}).size(), 3U);
}

TEST(KnobSupport, OlderModelsSayNothing) {
  EXPECT_EQ(missing_support(kSize, {}, {"size", {12}}), std::nullopt);
}

}  // namespace
}  // namespace semfuse
