// The bank of honest models: the paper's names, and no feature that looks ahead.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "features/feature_bank_access.h"
#include "features/graded_columns.h"
#include "features/membership.h"
#include "semfuse/error.h"
#include "semfuse/feature_bank.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

constexpr FeatureOptions kOptions{.bank = FeatureSet::semfuse, .kernel_base = 0.1};

std::size_t column(const FeatureBank& bank, const std::string& name) {
  const auto found = std::find(bank.names().begin(), bank.names().end(), name);
  EXPECT_NE(found, bank.names().end()) << name;
  return static_cast<std::size_t>(found - bank.names().begin());
}

class SemfuseFeatures : public testing::Test {
 protected:
  float at(const FeatureMatrix& matrix, std::size_t row, const std::string& name) const {
    return matrix.row(row)[column(bank_, name)];
  }
  float strength(double x) const { return static_cast<float>(std::pow(0.1, std::abs(x - 1.0) / 0.35)); }

  const FeatureBank bank_{synthetic_lexicon(), kOptions};
};

TEST_F(SemfuseFeatures, HasThePapersNames) {
  EXPECT_EQ(bank_.names(), FeatureBank(synthetic_lexicon()).names());
}

TEST_F(SemfuseFeatures, NothingChangesWhenLaterWordsDo) {
  const Sentence sentence = split_words("Bob cooks the meal, very bad but he starts the task, extremely great!");
  const FeatureMatrix whole = bank_.rows(sentence);
  for (std::size_t length = 0; length <= sentence.size(); ++length) {
    Sentence prefix(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(length));
    for (const char* mark : {"!", "?", "Alice"}) {
      prefix.resize(length);
      prefix.emplace_back(mark);
      const FeatureMatrix rows = bank_.rows(prefix);
      EXPECT_TRUE(std::equal(whole.row(0), whole.row(length) + whole.num_features, rows.row(0))) << length << mark;
    }
  }
  // The paper's bank is what this guards against.
  const FeatureBank paper(synthetic_lexicon());
  EXPECT_NE(paper.rows({"good", "!"}).row(1)[column(paper, "str_high")],
            paper.rows({"good", "."}).row(1)[column(paper, "str_high")]);
}

TEST_F(SemfuseFeatures, OnlyObjectsAreNouns) {
  const FeatureMatrix rows = bank_.rows(split_words("Bob cooks the meal, very bad zebra"));
  for (std::size_t t = 0; t < rows.num_rows; ++t) EXPECT_EQ(at(rows, t, "is_noun"), t == 4 ? 1.0f : 0.0f) << t;
}

TEST_F(SemfuseFeatures, AnIntensifierHasItsOwnStrengthAndHandsItOn) {
  const FeatureMatrix rows = bank_.rows(split_words("very good"));
  EXPECT_FLOAT_EQ(at(rows, 1, "str_high"), strength(0.8));
  EXPECT_FLOAT_EQ(at(rows, 2, "str_high"), strength(0.8));
  EXPECT_FLOAT_EQ(at(rows, 0, "str_high"), strength(0.0));
  EXPECT_FLOAT_EQ(at(rows, 3, "str_high"), strength(0.0));
  // In a row: the larger of its own and that of the token before.
  const FeatureMatrix row = bank_.rows(split_words("extremely slightly very moderately good"));
  const std::vector<double> expected = {0.0, 1.0, 1.0, 0.8, 0.8, 0.5, 0.0};
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_FLOAT_EQ(at(row, t, "str_high"), strength(expected[t])) << t;
  }
}

TEST_F(SemfuseFeatures, WordRowsSayWhatAWordIsByItself) {
  const Vocabulary vocabulary(
      {"<pad>", "<bos>", "<eos>", "Bob", "task", "great", "awful", "very", "she", "cooks", "!", "the", "zebra"});
  const FeatureMatrix rows = bank_.word_rows(vocabulary);
  ASSERT_EQ(rows.num_rows, vocabulary.size());
  ASSERT_EQ(rows.num_features, bank_.size());
  for (std::size_t f = 0; f < bank_.size(); ++f) EXPECT_EQ(rows.row(0)[f], 0.0f) << bank_.names()[f];
  const auto on = [&](const std::string& name) {
    std::vector<std::string> words;
    for (std::size_t id = 0; id < rows.num_rows; ++id) {
      if (at(rows, id, name) == 1.0f) words.push_back(vocabulary.entries()[id]);
    }
    return words;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(on("is_bos"), Words{"<bos>"});
  EXPECT_EQ(on("is_eos"), Words{"<eos>"});
  EXPECT_EQ(on("is_noun"), Words{"task"});
  EXPECT_EQ(on("is_verb"), Words{"cooks"});
  EXPECT_EQ(on("is_adj"), (Words{"great", "awful"}));
  EXPECT_EQ(on("is_pronoun"), Words{"she"});
  EXPECT_EQ(on("is_capitalized"), Words{"Bob"});
  EXPECT_EQ(on("pos_high"), Words{"great"});
  EXPECT_EQ(on("neg_high"), Words{"awful"});
  for (const char* name : {"is_subject", "is_object", "is_head", "coref_subject"}) EXPECT_EQ(on(name), Words{}) << name;
  EXPECT_FLOAT_EQ(at(rows, 7, "str_high"), strength(0.8));
  EXPECT_TRUE(std::equal(rows.row(11), rows.row(12), rows.row(12))) << "a word that the lexicon lacks is like `the`";
}

TEST_F(SemfuseFeatures, AWordInASentenceHasItsRowWhereNoContextSpeaks) {
  const FeatureMatrix rows = bank_.rows(split_words("the the the the the very"));
  const FeatureMatrix words = bank_.word_rows(Vocabulary::from_words({"the", "very"}));
  EXPECT_TRUE(std::equal(rows.row(6), rows.row(6) + bank_.size(), words.row(4)));
}

TEST_F(SemfuseFeatures, MembershipsOfAnAttributeCanBeItsOwn) {
  FeatureBank bank = bank_;
  for (const Memberships& levels : bank.memberships()) {
    EXPECT_EQ(levels, (Memberships{.centers = kOptions.centers, .widths = {0.35, 0.35, 0.35}}));
  }
  AttributeMemberships memberships = bank.memberships();
  memberships[2].centers[2] = 0.9;
  memberships[2].widths[2] = 0.2;
  bank.set_memberships(memberships);
  const Sentence sentence = split_words("very good");
  const FeatureMatrix before = bank_.rows(sentence), after = bank.rows(sentence);
  for (std::size_t t = 0; t < after.num_rows; ++t) {
    for (std::size_t f = 0; f < after.num_features; ++f) {
      if (bank.names()[f] == "str_high") continue;
      EXPECT_EQ(after.row(t)[f], before.row(t)[f]) << t << bank.names()[f];
    }
  }
  EXPECT_FLOAT_EQ(at(after, 1, "str_high"), static_cast<float>(std::pow(0.1, 0.5)));

  std::swap(memberships[0].centers[0], memberships[0].centers[1]);
  EXPECT_THROW(bank.set_memberships(memberships), Error);
  memberships = bank.memberships();
  memberships[1].widths[0] = 0.0;
  EXPECT_THROW(bank.set_memberships(memberships), Error);
}

TEST_F(SemfuseFeatures, InTheOpenBankNothingHasADegreeOfWhatItLacks) {
  std::vector<LexiconEntry> words = synthetic_lexicon().entries();
  words.push_back({.word = "fair", .word_class = WordClass::kAdjective, .polarity = 0.01});
  words.push_back({.word = "plain", .word_class = WordClass::kAdjective});
  const FeatureBank closed(Lexicon(words), {.bank = FeatureSet::semfuse});
  const FeatureBank open(Lexicon(words), {.bank = FeatureSet::open});
  const Sentence sentence = split_words("very fair, plain and awful");
  const FeatureMatrix expected = closed.rows(sentence), attributes = FeatureBankAccess::ungraded(closed).rows(sentence);
  const FeatureMatrix found = open.rows(sentence), ungraded = FeatureBankAccess::ungraded(open).rows(sentence);
  std::vector<bool> is_graded(open.size());
  for (const GradedColumn& graded : graded_columns()) is_graded[graded.column] = true;
  for (std::size_t t = 0; t < found.num_rows; ++t) {
    for (std::size_t f = 0; f < open.size(); ++f) {
      const bool lacks = is_graded[f] && attributes.row(t)[f] == 0.0f;
      EXPECT_EQ(found.row(t)[f], lacks ? 0.0f : expected.row(t)[f]) << t << open.names()[f];
      EXPECT_EQ(ungraded.row(t)[f], lacks ? kNoAttribute : attributes.row(t)[f]) << t << open.names()[f];
    }
  }
  // However small a polarity is, the sign shows; in the other bank it hardly does.
  EXPECT_GT(at(found, 2, "pos_low") - at(found, 2, "neg_low"), 0.9f);
  EXPECT_LT(at(expected, 2, "pos_low") - at(expected, 2, "neg_low"), 0.01f);
}

TEST_F(SemfuseFeatures, UngradedRowsHaveTheAttributes) {
  const FeatureBank ungraded = FeatureBankAccess::ungraded(bank_);
  const FeatureMatrix graded_rows = bank_.rows(split_words("very awful")),
                      rows = ungraded.rows(split_words("very awful"));
  for (const GradedColumn& graded : graded_columns()) {
    const std::array<float, 3> of_very = {0.0f, 0.0f, 0.8f}, of_awful = {0.0f, 1.0f, 0.8f};
    EXPECT_EQ(rows.row(1)[graded.column], of_very[graded.attribute]);
    EXPECT_EQ(rows.row(2)[graded.column], of_awful[graded.attribute]);
    const std::string level = std::array{"low", "med", "high"}[graded.level];
    EXPECT_TRUE(bank_.names()[graded.column].ends_with(level));
  }
  EXPECT_EQ(at(rows, 2, "is_adj"), at(graded_rows, 2, "is_adj"));
  const FeatureMatrix words = ungraded.word_rows(Vocabulary::from_words({"awful"}));
  EXPECT_EQ(at(words, 0, "neg_low"), kNoAttribute);
  EXPECT_EQ(at(words, 0, "is_adj"), 0.0f);
  EXPECT_EQ(at(words, 1, "neg_low"), 0.0f);
  EXPECT_EQ(at(words, 3, "neg_low"), 1.0f);
}

TEST(MembershipKernel, FallsAsNamed) {
  FeatureOptions options{.bandwidth = 0.5};
  options.kernel = MembershipKernel::triangular;
  EXPECT_DOUBLE_EQ(membership(0.6, 0.6, options), 1.0);
  EXPECT_DOUBLE_EQ(membership(0.85, 0.6, options), 0.5);
  EXPECT_DOUBLE_EQ(membership(0.0, 0.6, options), 0.0);
  options.kernel = MembershipKernel::gaussian;
  EXPECT_DOUBLE_EQ(membership(0.6, 0.6, options), 1.0);
  EXPECT_DOUBLE_EQ(membership(1.1, 0.6, options), std::exp(-0.5));
  options.kernel = MembershipKernel::power;
  options.kernel_base = 0.1;
  EXPECT_DOUBLE_EQ(membership(1.1, 0.6, options), 0.1);
}

}  // namespace
}  // namespace semfuse
