#include "evaluation/knob_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"
#include "support/small_training.h"

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
  const Lexicon lexicon = synthetic_lexicon();
  EXPECT_THAT(realised(kPolarity, sentences, lexicon).values, ElementsAre(DoubleNear(2.0 / 3.0, 1e-12)));
  EXPECT_THAT(realised(kStrength, sentences, lexicon).values, ElementsAre(DoubleNear((0.5 + 1.0) / 2.0, 1e-12)));
  EXPECT_THAT(realised(kMark, sentences, lexicon).values,
              ElementsAre(DoubleNear(2.0 / 3.0, 1e-12), DoubleNear(1.0 / 3.0, 1e-12), 0.0));
  EXPECT_TRUE(std::isnan(realised(kPolarity, {}, lexicon).values[0]));
}

TEST(KnobSweep, TheIntervalIsThatOfAProportion) {
  std::vector<Sentence> sentences;
  for (int i = 0; i < 400; ++i) sentences.push_back({i % 4 == 0 ? "good" : "bad"});
  const Realised found = realised(kPolarity, sentences, synthetic_lexicon());
  EXPECT_DOUBLE_EQ(found.values[0], 0.25);
  EXPECT_NEAR(found.half_widths[0], 1.96 * std::sqrt(0.25 * 0.75 / 400.0), 1e-4);
}

TEST(KnobSweep, TheIntervalIsThatOfAllSentencesAtOnce) {
  // Strengths of one or two intensifiers, against the formula on everything that was added.
  const Lexicon lexicon = synthetic_lexicon();
  const std::vector<std::string> texts = {"very good", "slightly good and extremely bad", "good", "extremely bad"};
  std::vector<double> values;
  RealisedCount count(kStrength);
  for (int i = 0; i < 1000; ++i) {
    const Sentence sentence = split_words(texts[static_cast<std::size_t>(i * i + i / 7) % texts.size()]);
    count.add(sentence, lexicon);
    if (const auto value = read_label(kStrength, sentence, lexicon).value) values.push_back(*value);
  }
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  EXPECT_EQ(count.result().values[0], mean);
  EXPECT_NEAR(count.result().half_widths[0], 1.959964 * std::sqrt(squares) / n, 1e-14);
  RealisedCount constant(kStrength);
  for (int i = 0; i < 1000; ++i) constant.add(split_words("slightly good"), lexicon);
  EXPECT_LT(constant.result().half_widths[0], 1e-14) << "no noise of sums of squares";
}

// Asked for 1 and 3; texts of 1 and 2, and of 3 and 4. Distances 1/2 and 1/2; covariance of asked and value 1,
// variances 1 and 5/4.
TEST(TextMatch, CountsEachText) {
  const Knob knob = parse_knob("length: scalar of length from 1 to 9");
  const auto level = [&](double asked, double first, double second) {
    RealisedCount count(knob, asked);
    for (const double value : {first, second}) count.add(KnobLabel{.value = value});
    return count.result();
  };
  const Realised low = level(1.0, 1.0, 2.0);
  const Realised high = level(3.0, 3.0, 4.0);
  EXPECT_NEAR(low.distance, 0.5, 1e-12);
  EXPECT_NEAR(low.deviation, 0.5, 1e-12);
  const TextMatch match = text_match({1.0, 3.0}, {&low, &high});
  EXPECT_NEAR(match.distance, 0.5, 1e-12);
  EXPECT_NEAR(match.correlation, 1.0 / std::sqrt(1.25), 1e-12);
}

TEST(KnobSweep, StopsWithinALevelAndGoesOnFromLevelsThatAreKnown) {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {kPolarity};
  const LanguageModel model = synthetic_model(options);
  const SweepOptions sweep{.levels = 3, .n = 300};
  std::map<std::string, std::vector<Realised>> kept;
  SweepHooks hooks;
  hooks.measured = [&](const std::string& level, const std::vector<Realised>& realised) { kept[level] = realised; };
  const std::optional<SweepResult> whole = sweep_knobs(model, {}, sweep, 1, hooks);
  ASSERT_TRUE(whole);
  ASSERT_EQ(kept.size(), 4U) << "three levels and nothing stated";

  std::size_t questions = 0;
  SweepHooks stop;
  stop.go_on = [&](const SweepProgress& progress) {
    EXPECT_LE(progress.sentences_done, progress.sentences);
    return ++questions < 3;
  };
  EXPECT_FALSE(sweep_knobs(model, {}, sweep, 1, stop));
  EXPECT_EQ(questions, 3U) << "it is asked within the 1200 sentences of the first level";

  kept.erase(std::prev(kept.end()));
  std::size_t measured = 0;
  SweepHooks again;
  again.known = [&](const std::string& level) {
    return kept.contains(level) ? std::optional(kept.at(level)) : std::nullopt;
  };
  again.measured = [&](const std::string&, const std::vector<Realised>&) { ++measured; };
  const std::optional<SweepResult> resumed = sweep_knobs(model, {}, sweep, 2, again);
  ASSERT_TRUE(resumed);
  EXPECT_EQ(measured, 1U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(resumed->sweeps[0].levels[i].realised[0].values, whole->sweeps[0].levels[i].realised[0].values);
    EXPECT_EQ(resumed->sweeps[0].levels[i].realised[0].half_widths, whole->sweeps[0].levels[i].realised[0].half_widths);
  }
  // What does not fit the knobs is measured again.
  again.known = [](const std::string&) { return std::vector<Realised>(7); };
  EXPECT_TRUE(sweep_knobs(model, {}, sweep, 1, again));
  EXPECT_EQ(measured, 5U);
}

// Whatever comes of a level that no training sentence is near says nothing of the knob, least of all that it is
// monotone.
TEST(KnobSweep, ClaimsNoOrderWhereNothingCanBeAskedFor) {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {kStrength};
  LanguageModel model = random_model(options);
  const SweepOptions sweep{.levels = 5, .n = 50};
  const KnobSweep unknown = sweep_knobs(model, {}, sweep, 1)->sweeps[0];
  EXPECT_TRUE(unknown.gaps.empty());
  EXPECT_FALSE(std::isnan(*unknown.spearman));
  model.set_knob_support({{"strength", {0.2, 1.0}}});
  const KnobSweep found = sweep_knobs(model, {}, sweep, 1)->sweeps[0];
  EXPECT_THAT(found.gaps,
              ElementsAre("no training sentence has a strength between 0.2 and 1: 0.4, 0.6, 0.8 cannot be asked for"));
  EXPECT_TRUE(std::isnan(*found.spearman));
  EXPECT_EQ(found.mean_absolute_error, unknown.mean_absolute_error);
}

TEST(KnobSweep, SamplesAsItIsTold) {
  ModelOptions options = small_options(AttentionMask::causal, true);
  options.knobs = {kStrength};
  const LanguageModel model = random_model(options);
  const auto unstated = [&](const SamplingOptions& sampling) {
    const SweepOptions sweep{.levels = 2, .n = 50, .sampling = sampling};
    return sweep_knobs(model, {}, sweep, 1)->unstated[0].values[0];
  };
  EXPECT_NE(unstated({.temperature = 0.8}), unstated({}));
  EXPECT_THROW(unstated({.temperature = -1.0}), Error);
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
