#include "semfuse/feature_bank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "features/membership.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

// By hand: ln 0.9 = -0.1053605; Tri(x) is exp(-0.1053605 |x - c| / 0.35) for c = 0.2, 0.6, 1.0.
constexpr float kAway02 = 0.941571f;  // |x - c| = 0.2
constexpr float kAway04 = 0.886555f;  // 0.4
constexpr float kAway06 = 0.834754f;  // 0.6
constexpr float kAway08 = 0.785980f;  // 0.8
constexpr float kAway10 = 0.740056f;  // 1.0
constexpr float kClose = 2e-6f;

const FeatureBank& bank() {
  static const FeatureBank the_bank{synthetic_lexicon()};
  return the_bank;
}

// The cells of one sentence by name.
class Rows {
 public:
  explicit Rows(std::string_view text) : matrix_(bank().rows(split_words(text))) {}

  std::size_t size() const { return matrix_.num_rows; }

  float at(std::size_t row, const std::string& name) const {
    const auto& names = bank().names();
    const auto column = std::find(names.begin(), names.end(), name);
    EXPECT_NE(column, names.end()) << name;
    return matrix_.row(row)[column - names.begin()];
  }

  // The rows in which a binary feature is on.
  std::vector<std::size_t> on(const std::string& name) const {
    std::vector<std::size_t> rows;
    for (std::size_t t = 0; t < size(); ++t) {
      EXPECT_TRUE(at(t, name) == 0.0f || at(t, name) == 1.0f);
      if (at(t, name) == 1.0f) rows.push_back(t);
    }
    return rows;
  }

  void expect_degrees(std::size_t row, const std::string& family, float low, float med, float high) const {
    EXPECT_NEAR(at(row, family + "_low"), low, kClose) << family << " of row " << row;
    EXPECT_NEAR(at(row, family + "_med"), med, kClose) << family << " of row " << row;
    EXPECT_NEAR(at(row, family + "_high"), high, kClose) << family << " of row " << row;
  }

 private:
  FeatureMatrix matrix_;
};

using RowList = std::vector<std::size_t>;

TEST(Membership, FallsByTheBaseWithEachBandwidth) {
  EXPECT_DOUBLE_EQ(membership(0.6, 0.6, 0.35, 0.9), 1.0);
  EXPECT_NEAR(membership(0.25, 0.6, 0.35, 0.9), 0.9, 1e-12);
  EXPECT_NEAR(membership(0.95, 0.6, 0.35, 0.9), 0.9, 1e-12);
  EXPECT_NEAR(membership(1.0, 0.0, 0.5, 0.1), 0.01, 1e-12);
}

TEST(FeatureBank, HasThePapers22FeaturesInOrder) {
  EXPECT_EQ(bank().names(), (std::vector<std::string>{
                                "is_noun",  "is_verb",       "is_adj",         "is_subject",  "is_object", "is_head",
                                "is_bos",   "is_eos",        "is_comma",       "is_question", "pos_low",   "pos_med",
                                "pos_high", "neg_low",       "neg_med",        "neg_high",    "str_low",   "str_med",
                                "str_high", "coref_subject", "is_capitalized", "is_pronoun"}));
  EXPECT_EQ(bank().size(), 22u);
}

TEST(FeatureBank, DescribesOneClause) {
  // Rows: 0 <bos>, 1 Alice, 2 reviews, 3 the, 4 paper, 5 comma, 6 very, 7 good, 8 !, 9 <eos>.
  const Rows rows("Alice reviews the paper, very good!");
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows.on("is_noun"), (RowList{3, 4, 6}));
  EXPECT_EQ(rows.on("is_verb"), RowList{2});
  EXPECT_EQ(rows.on("is_adj"), RowList{7});
  EXPECT_EQ(rows.on("is_subject"), RowList{1});
  EXPECT_EQ(rows.on("is_object"), RowList{4});
  EXPECT_EQ(rows.on("is_head"), RowList{2});
  EXPECT_EQ(rows.on("is_bos"), RowList{0});
  EXPECT_EQ(rows.on("is_eos"), RowList{9});
  EXPECT_EQ(rows.on("is_comma"), RowList{5});
  EXPECT_EQ(rows.on("is_question"), RowList{});
  EXPECT_EQ(rows.on("coref_subject"), RowList{});
  EXPECT_EQ(rows.on("is_capitalized"), RowList{1});
  EXPECT_EQ(rows.on("is_pronoun"), RowList{});
  for (std::size_t t = 0; t < rows.size(); ++t) {
    // good has polarity 1, all others 0; strength is 0.8 + 0.2 after very, else the nudge of 0.2 alone.
    if (t == 7) {
      rows.expect_degrees(t, "pos", kAway08, kAway04, 1.0f);
      rows.expect_degrees(t, "str", kAway08, kAway04, 1.0f);
    } else {
      rows.expect_degrees(t, "pos", kAway02, kAway06, kAway10);
      rows.expect_degrees(t, "str", 1.0f, kAway04, kAway08);
    }
    rows.expect_degrees(t, "neg", kAway02, kAway06, kAway10);
  }
}

TEST(FeatureBank, DescribesTwoClauses) {
  // 0 <bos>, 1 Bob, 2 cooks, 3 the, 4 meal, 5 comma, 6 very, 7 bad, 8 but, 9 he, 10 starts, 11 the, 12 task, 13 comma,
  // 14 extremely, 15 great, 16 ?, 17 <eos>.
  const Rows rows("Bob cooks the meal, very bad but he starts the task, extremely great?");
  ASSERT_EQ(rows.size(), 18u);
  EXPECT_EQ(rows.on("is_noun"), (RowList{3, 4, 6, 8, 11, 12, 14}));
  EXPECT_EQ(rows.on("is_verb"), (RowList{2, 10}));
  EXPECT_EQ(rows.on("is_adj"), (RowList{7, 15}));
  EXPECT_EQ(rows.on("is_subject"), RowList{1});
  EXPECT_EQ(rows.on("is_object"), RowList{4});
  EXPECT_EQ(rows.on("is_head"), RowList{2});
  EXPECT_EQ(rows.on("is_comma"), (RowList{5, 13}));
  EXPECT_EQ(rows.on("is_question"), RowList{16});
  EXPECT_EQ(rows.on("coref_subject"), RowList{9});
  EXPECT_EQ(rows.on("is_pronoun"), RowList{9});
  EXPECT_EQ(rows.on("is_capitalized"), RowList{1});
  rows.expect_degrees(7, "neg", kAway08, kAway04, 1.0f);
  rows.expect_degrees(7, "pos", kAway02, kAway06, kAway10);
  rows.expect_degrees(15, "pos", kAway08, kAway04, 1.0f);
  rows.expect_degrees(7, "str", kAway06, kAway02, kAway02);   // 0.8, no nudge
  rows.expect_degrees(15, "str", kAway08, kAway04, 1.0f);     // 1.0
  rows.expect_degrees(14, "str", kAway02, kAway06, kAway10);  // extremely itself follows a comma: 0
  rows.expect_degrees(0, "str", kAway02, kAway06, kAway10);
}

TEST(FeatureBank, CapsTheNudgedStrengthAtOne) {
  Rows("Eve trains the model, extremely poor!").expect_degrees(7, "str", kAway08, kAway04, 1.0f);
  Rows("Eve trains the model, slightly poor!").expect_degrees(7, "str", kAway02, kAway02, kAway06);
}

TEST(FeatureBank, NudgesOnlyWhenTheSentenceEndsInAnExclamation) {
  Rows("good! very bad.").expect_degrees(0, "str", kAway02, kAway06, kAway10);
  Rows("good.!").expect_degrees(0, "str", 1.0f, kAway04, kAway08);
}

TEST(FeatureBank, CorefersOnlyAfterASubjectName) {
  EXPECT_EQ(Rows("she reviews Alice and they").on("coref_subject"), RowList{5});
  EXPECT_EQ(Rows("she reviews Alice and they").on("is_pronoun"), (RowList{1, 5}));
  EXPECT_EQ(Rows("she and he").on("coref_subject"), RowList{});
}

TEST(FeatureBank, CountsUnknownWordsAsNounsIfTheyAreAlphabetic) {
  const Rows rows("Zebra 42 it's caf\xC3\xA9 (");
  EXPECT_EQ(rows.on("is_noun"), (RowList{1, 4}));
  EXPECT_EQ(rows.on("is_capitalized"), RowList{1});
}

TEST(FeatureBank, TakesShortSentences) {
  const Rows empty("");
  ASSERT_EQ(empty.size(), 2u);
  EXPECT_EQ(empty.on("is_bos"), RowList{0});
  EXPECT_EQ(empty.on("is_eos"), RowList{1});
  EXPECT_EQ(empty.on("is_noun"), RowList{});
  EXPECT_EQ(Rows("Alice").on("is_object"), RowList{});
}

TEST(FeatureBank, ReadsItsOptions) {
  const FeatureBank other(
      Lexicon({{"nice", WordClass::kAdjective, 0.5, 0.0}}),
      {.kernel_base = 0.25, .centers = {0.0, 0.5, 1.0}, .bandwidth = 1.0, .exclamation_nudge = 0.0});
  const FeatureMatrix matrix = other.rows({"nice", "!"});
  const float* nice = matrix.row(1);
  EXPECT_FLOAT_EQ(nice[10], 0.5f);   // pos_low: 0.25^0.5
  EXPECT_FLOAT_EQ(nice[11], 1.0f);   // pos_med
  EXPECT_FLOAT_EQ(nice[12], 0.5f);   // pos_high
  EXPECT_FLOAT_EQ(nice[13], 1.0f);   // neg_low of 0
  EXPECT_FLOAT_EQ(nice[15], 0.25f);  // neg_high
  EXPECT_FLOAT_EQ(nice[16], 1.0f);   // str_low of 0: no nudge
}

TEST(FeatureBank, RefusesOptionsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<FeatureOptions> wrong = {
      {.kernel_base = 0.0},         {.kernel_base = 1.0},         {.kernel_base = nan},
      {.centers = {0.6, 0.2, 1.0}}, {.centers = {0.2, 0.6, 1.1}}, {.centers = {nan, 0.6, 1}},
      {.bandwidth = 0.0},           {.bandwidth = infinity},      {.bandwidth = nan},
      {.exclamation_nudge = -1},    {.exclamation_nudge = nan},
  };
  for (const FeatureOptions& options : wrong) EXPECT_THROW(FeatureBank(synthetic_lexicon(), options), Error);
  try {
    FeatureBank(synthetic_lexicon(), {.kernel_base = 1.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "features: kernel_base is 1.5; choose one in (0, 1)");
  }
}

}  // namespace
}  // namespace semfuse
