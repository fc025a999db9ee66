#include "evaluation/knob_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace semfuse {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

const Knob kPolarity = parse_knob("polarity: probability of polarity");
const Knob kStrength = parse_knob("strength: scalar of strength from 0.2 to 1");
const Knob kMark = parse_knob("mark: distribution of final_mark over . ! ?");

TEST(KnobSweep, RealisedIsCountedOverWordsAndSentences) {
  const std::vector<Sentence> sentences = {split_words("very good and slightly good."), split_words("extremely bad!"),
                                           split_words("the task.")};
  const Lexicon lexicon = Lexicon::synthetic();
  EXPECT_THAT(realised(kPolarity, sentences, lexicon).values, ElementsAre(DoubleNear(2.0 / 3.0, 1e-12)));
  EXPECT_THAT(realised(kStrength, sentences, lexicon).values, ElementsAre(DoubleNear((0.5 + 1.0) / 2.0, 1e-12)));
  EXPECT_THAT(realised(kMark, sentences, lexicon).values,
              ElementsAre(DoubleNear(2.0 / 3.0, 1e-12), DoubleNear(1.0 / 3.0, 1e-12), 0.0));
  EXPECT_TRUE(std::isnan(realised(kPolarity, {}, lexicon).values[0]));
}

TEST(KnobSweep, TheIntervalIsThatOfAProportion) {
  std::vector<Sentence> sentences;
  for (int i = 0; i < 400; ++i) sentences.push_back({i % 4 == 0 ? "good" : "bad"});
  const Realised found = realised(kPolarity, sentences, Lexicon::synthetic());
  EXPECT_DOUBLE_EQ(found.values[0], 0.25);
  EXPECT_NEAR(found.half_widths[0], 1.96 * std::sqrt(0.25 * 0.75 / 400.0), 1e-4);
}

TEST(KnobSweep, SettingsSpanTheRange) {
  const std::vector<KnobSetting> strengths = sweep_settings(kStrength, 9);
  ASSERT_EQ(strengths.size(), 9u);
  EXPECT_DOUBLE_EQ(strengths.front().values[0], 0.2);
  EXPECT_DOUBLE_EQ(strengths[1].values[0], 0.3);
  EXPECT_DOUBLE_EQ(strengths.back().values[0], 1.0);
  const std::vector<KnobSetting> marks = sweep_settings(kMark, 9);
  ASSERT_EQ(marks.size(), 12u);
  EXPECT_THAT(marks[1].values, ElementsAre(0.0, 1.0, 0.0));
  EXPECT_THAT(marks[4].values, ElementsAre(0.5, 0.0, 0.5));
  EXPECT_THAT(marks[6].values, ElementsAre(DoubleNear(1.0 / 6.0, 1e-12), DoubleNear(2.0 / 6.0, 1e-12), 0.5));
  EXPECT_THAT(marks[11].values, ElementsAre(0.5, DoubleNear(2.0 / 6.0, 1e-12), DoubleNear(1.0 / 6.0, 1e-12)));
  EXPECT_EQ(sweep_settings(parse_knob("mark: distribution of final_mark over . !"), 9).size(), 12u);
  EXPECT_EQ(sweep_settings(parse_knob("mark: distribution of final_mark over . ! ? ; :"), 9).size(), 15u);
  for (const KnobSetting& mark : marks) {
    EXPECT_NEAR(std::accumulate(mark.values.begin(), mark.values.end(), 0.0), 1.0, 1e-9);
  }
  for (const std::vector<KnobSetting>& joint : joint_settings({kPolarity, kStrength, kMark})) {
    EXPECT_NO_THROW(request_row(std::vector<Knob>{kPolarity, kStrength, kMark}, joint));
  }
}

TEST(KnobSweep, SpearmanIsTheCorrelationOfRanks) {
  EXPECT_DOUBLE_EQ(spearman({0, 1, 2, 3}, {0.1, 0.2, 0.9, 1.0}), 1.0);
  EXPECT_DOUBLE_EQ(spearman({0, 1, 2, 3}, {4, 3, 2, 1}), -1.0);
  EXPECT_NEAR(spearman({1, 2, 3, 4, 5}, {1, 3, 2, 4, 5}), 0.9, 1e-12);
  EXPECT_NEAR(spearman({1, 2, 3}, {1, 1, 2}), std::sqrt(0.75), 1e-12);
  EXPECT_TRUE(std::isnan(spearman({1}, {1})));
  EXPECT_TRUE(std::isnan(spearman({1, 2}, {1, NAN})));
}

}  // namespace
}  // namespace semfuse
