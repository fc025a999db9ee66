#include "data/induced_lexicon.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "data/label_sides.h"
#include "semfuse/error.h"
#include "semfuse/feature_bank.h"
#include "support/temporary_folder.h"

namespace semfuse {
namespace {

using testing::HasSubstr;

std::string reviews(const char* positive, const char* negative) {
  std::string text = "text\tlabel\n";
  for (int i = 0; i < 600; ++i) {
    text += fmt::format("the food number {} was {} .\t{}\n", i,
                        i % 3 == 0   ? "not good"
                        : i % 3 == 1 ? "good"
                                     : "Great , not far",
                        i % 3 == 0 ? negative : positive);
    text += fmt::format("the room number {} was {}\t{}\n", i, i % 2 == 0 ? "awful" : "bad , great mess", negative);
  }
  return text;
}

class Induce : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::string error(const std::string& bytes, const std::optional<std::string>& positive = std::nullopt) {
    try {
      induce_lexicon({file("e.tsv", bytes)}, {.label = "label", .positive = positive});
    } catch (const Error& caught) {
      return caught.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

double polarity_of(const InducedLexicon& lexicon, const std::string& words) {
  for (const InducedWord& word : lexicon.words) {
    if (word.words == words) return word.polarity;
  }
  return 0.0;
}

TEST_F(Induce, FindsWordsAndPhrasesOfEachSide) {
  const InducedLexicon lexicon = induce_lexicon({file("a.tsv", reviews("1", "0"))}, {.label = "label"});
  EXPECT_GT(polarity_of(lexicon, "good"), 0.2);
  EXPECT_LT(polarity_of(lexicon, "awful"), -0.5);
  EXPECT_LT(polarity_of(lexicon, "bad"), -0.5);
  EXPECT_LT(polarity_of(lexicon, "not good"), -0.5);
  EXPECT_EQ(polarity_of(lexicon, "bad great"), 0.0) << "a comma is between them";
  EXPECT_LT(std::abs(polarity_of(lexicon, "the")), 0.2);
  EXPECT_NEAR(static_cast<double>(lexicon.held_out), 120.0, 40.0);
  EXPECT_GT(lexicon.held_out_right, lexicon.held_out_majority);
  EXPECT_THAT(lexicon.meaning, HasSubstr("\"label\" above 0.5"));
  const PolaritySum sum(lexicon.words);
  EXPECT_LT(sum("Not good."), 0.0);
  EXPECT_GT(sum("GOOD, good"), 0.0);
  EXPECT_EQ(sum(""), 0.0);
}

TEST_F(Induce, WritesWhatALexiconReads) {
  const InducedLexicon induced = induce_lexicon({file("a.tsv", reviews("pos", "neg"))}, {.label = "label"});
  const Lexicon lexicon = Lexicon::parse(to_tsv(induced), "induced");
  EXPECT_EQ(lexicon.entries().size(), induced.words.size());
  ASSERT_NE(lexicon.find("not_good"), nullptr);
  EXPECT_LT(lexicon.find("not_good")->polarity, -0.5);
  EXPECT_EQ(lexicon.find("not_good")->word_class, "phrase");
  EXPECT_TRUE(lexicon.find("good")->more.empty());
  // The same text gives the same file.
  EXPECT_EQ(to_tsv(induce_lexicon({folder_ / "a.tsv"}, {.label = "label"})), to_tsv(induced));
}

// They are those that features look up: "did" and "n't". What no lexicon can hold ("dr.") is left out.
TEST_F(Induce, HasTheWordsOfFeatures) {
  std::string text = "text\tlabel\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("dr. who didn't help {}\tneg\nthe u.s. team came {}\tpos\n", i, i);
  const Lexicon lexicon = Lexicon::parse(to_tsv(induce_lexicon({file("a.tsv", text)}, {.label = "label"})), "induced");
  ASSERT_NE(lexicon.find("n't"), nullptr);
  EXPECT_LT(lexicon.find("n't")->polarity, -0.5);
  EXPECT_EQ(lexicon.find("didn't"), nullptr);
  EXPECT_EQ(lexicon.find("dr."), nullptr);
}

TEST_F(Induce, TakesOneLabelAgainstTheOthersIfTold) {
  EXPECT_THAT(error(reviews("ham", "spam")), HasSubstr("does not tell which label is positive"));
  EXPECT_THAT(error(reviews("ham", "spam"), "eggs"), HasSubstr("never says \"eggs\"; it says \"spam\", \"ham\""));
  const InducedLexicon lexicon =
      induce_lexicon({file("a.tsv", reviews("ham", "spam"))}, {.label = "label", .positive = "ham"});
  EXPECT_GT(polarity_of(lexicon, "good"), 0.2);
}

TEST_F(Induce, RefusesLabelsThatTellNoSides) {
  EXPECT_THAT(error("text\tlabel\na\t1\nb\t1\n"), HasSubstr("says 1 everywhere"));
  EXPECT_THAT(error("text\tlabel\na\t\nb\t\n"), HasSubstr("is empty"));
  std::string many = "text\tlabel\n";
  for (int i = 0; i < 300; ++i) many += fmt::format("a\tlabel {}\n", i);
  EXPECT_THAT(error(many), HasSubstr("more than 100 different values"));
  EXPECT_THAT(error("text\tstars\na\t1\n"), HasSubstr("has no column \"label\""));
}

TEST(LabelSides, OfNumbersAreAboveAndBelowTheMiddle) {
  ColumnSummary stars("stars");
  for (const char* star : {"1", "2", "3", "4", "5"}) stars.add({star, Cell::Kind::text});
  const LabelSides sides(stars, std::nullopt);
  EXPECT_EQ(sides.side("5"), 1);
  EXPECT_EQ(sides.side("3"), 0);
  EXPECT_EQ(sides.side("1"), -1);
  EXPECT_EQ(sides.side(""), 0);
}

}  // namespace
}  // namespace semfuse
