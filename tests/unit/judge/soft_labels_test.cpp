#include "judge/soft_labels.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "data/text_hash.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

const FeatureBank& no_features() {
  static const FeatureBank bank(Lexicon({}), {.bank = FeatureSet::none});
  return bank;
}

// The word of a text says its label, but for one text in twenty, whose label is wrong; and every text has a word of its
// own, by which a judge that has seen it would know that.
class SoftLabelsTest : public testing::Test {
 protected:
  SoftLabelsTest() {
    std::ofstream file(folder_ / "t.tsv");
    file << "text\tlabel\ttopic\n";
    for (std::size_t i = 0; i < kTexts; ++i) {
      file << text(i) << '\t' << (is_positive(i) != is_wrong(i) ? "1" : "0") << '\t'
           << (is_positive(i) ? "sun" : "rain") << '\n';
    }
    options_ = {
        .train = {folder_ / "t.tsv"},
        .val_share = 0.1,
        .judge_share = 0.1,
        .vocabulary = 400,
        .given = std::nullopt,
        .knobs = {parse_knob("size: scalar of length from 1 to 20"), parse_knob("label: probability of column label"),
                  parse_knob("topic: distribution of column topic over rain sun")},
        .bank = &no_features(),
        .threads = 2};
    options_.soft_labels = [this] { return cross_fitted_labels(options_); };
  }

  static constexpr std::size_t kTexts = 1500;
  static bool is_positive(std::size_t i) { return i % 3 == 0; }
  static bool is_wrong(std::size_t i) { return i % 20 == 7; }
  static std::string text(std::size_t i) {
    return fmt::format("it{0} was {1} it{0}", i, is_positive(i) ? "good" : "bad");
  }

  TemporaryFolder folder_;
  PreparationOptions options_;
};

TEST_F(SoftLabelsTest, AJudgeNeverSeesTheTextThatItIsAskedAbout) {
  const SoftLabels labels = cross_fitted_labels(options_);
  std::vector<float> values(3);
  std::array<std::size_t, kFolds> folds{};
  for (std::size_t i = 0; i < kTexts; ++i) {
    labels(text(i), values);
    // Whatever the file says of this text, others say what its word means.
    EXPECT_EQ(values[0] > 0.5f, is_positive(i)) << i;
    EXPECT_NEAR(values[1] + values[2], 1.0, 1e-5);
    EXPECT_EQ(values[2] > 0.5f, is_positive(i)) << i;
    ++folds[fold_of(text_hash(text(i)))];
  }
  for (const std::size_t count : folds) EXPECT_NEAR(static_cast<double>(count), kTexts / 5.0, 60.0);
}

TEST_F(SoftLabelsTest, AreStoredWithTheTexts) {
  TemporaryFolder cache;
  const PreparedData data = prepare(options_, cache.path());
  EXPECT_FALSE(data.was_there);
  EXPECT_GT(data.report.judge_texts, kTexts / 20);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < data.train->size(); ++i) {
    EXPECT_TRUE(data.train->soft_label(i, 0).empty());
    ASSERT_EQ(data.train->soft_label(i, 1).size(), 1u);
    ASSERT_EQ(data.train->soft_label(i, 2).size(), 2u);
    const bool is_sun = data.train->label(i, 2).label == 1u;
    EXPECT_EQ(data.train->soft_label(i, 1)[0] > 0.5f, is_sun);
    if ((data.train->label(i, 1).positive == 1) != is_sun) ++wrong;
  }
  EXPECT_GT(wrong, 0u);
  EXPECT_EQ(data.train->size() + data.val->size() + data.report.judge_texts, kTexts);

  // Found again, without judges; other data without soft labels are others.
  PreparationOptions again = options_;
  again.soft_labels = []() -> SoftLabels { throw std::logic_error("made anew"); };
  again.threads = 1;
  EXPECT_TRUE(prepare(again, cache.path()).was_there);
  PreparationOptions hard = options_;
  hard.soft_labels = nullptr;
  EXPECT_NE(fingerprint_of(hard), fingerprint_of(options_));
  EXPECT_TRUE(prepare(hard, cache.path()).train->soft_label(0, 1).empty());
}

TEST_F(SoftLabelsTest, JudgeTextsAreNoTrainingTexts) {
  TemporaryFolder cache;
  options_.soft_labels = nullptr;
  const PreparedData apart = prepare(options_, cache.path());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < kTexts; ++i) {
    if (is_judge_text(text(i), 0.1) && !is_validation_text(text(i), 0.1)) ++kept;
  }
  EXPECT_EQ(apart.report.judge_texts, kept);
  options_.judge_share = 0.0;
  const PreparedData all = prepare(options_, cache.path());
  EXPECT_EQ(all.report.judge_texts, 0u);
  EXPECT_EQ(all.train->size(), apart.train->size() + kept);
  EXPECT_EQ(all.val->size(), apart.val->size());
}

}  // namespace
}  // namespace semfuse
