#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "semfuse/corpus.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::set<std::string> kPositive = {"good", "great", "excellent", "pleasant", "wonderful"};
const std::set<std::string> kNegative = {"bad", "poor", "terrible", "unpleasant", "awful"};
const std::map<std::string, std::string> kPronouns = {
    {"Alice", "she"}, {"Bob", "he"}, {"Carol", "she"}, {"Dave", "he"}, {"Eve", "she"}};

std::vector<Sentence> sentences(std::size_t count, std::uint64_t seed = 1) {
  return make_synthetic_corpus({.seed = seed, .train = count, .val = 0, .held_out = {}}).train;
}

std::string error_of(const SyntheticCorpusOptions& options) {
  try {
    make_synthetic_corpus(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Pearson's statistic of the words at one place of the sentences against their expected shares.
double chi_square(const std::vector<std::string>& words, const std::map<std::string, double>& shares) {
  std::map<std::string, double> counts;
  for (const std::string& word : words) {
    EXPECT_TRUE(shares.contains(word)) << word;
    counts[word] += 1.0;
  }
  double statistic = 0.0;
  for (const auto& [word, share] : shares) {
    const double expected = share * static_cast<double>(words.size());
    statistic += (counts[word] - expected) * (counts[word] - expected) / expected;
  }
  return statistic;
}

std::map<std::string, double> fair(const std::set<std::string>& words) {
  std::map<std::string, double> shares;
  for (const std::string& word : words) shares[word] = 1.0 / static_cast<double>(words.size());
  return shares;
}

// The word `place` words after the beginning of each first clause (clause 0) or second clause (clause 1).
std::vector<std::string> column(const std::vector<Sentence>& corpus, std::size_t clause, std::size_t place) {
  std::vector<std::string> words;
  for (const Sentence& sentence : corpus) {
    if (clause == 0 || sentence.size() == 16) words.push_back(sentence[clause * 8 + place]);
  }
  return words;
}

// Values that chi-square exceeds once in a thousand, by degrees of freedom.
constexpr double kRare1 = 10.83;
constexpr double kRare2 = 13.82;
constexpr double kRare3 = 16.27;
constexpr double kRare4 = 18.47;
constexpr double kRare9 = 27.88;

TEST(SyntheticCorpus, SentencesFollowTheTemplate) {
  for (const Sentence& sentence : sentences(2000)) {
    ASSERT_TRUE(sentence.size() == 8 || sentence.size() == 16) << join_words(sentence);
    for (std::size_t begin = 0; begin + 8 <= sentence.size(); begin += 8) {
      EXPECT_EQ(sentence[begin + 2], "the");
      EXPECT_EQ(sentence[begin + 4], ",");
    }
    if (sentence.size() == 16) {
      EXPECT_TRUE(sentence[7] == "and" || sentence[7] == "but");
      EXPECT_EQ(sentence[8], kPronouns.at(sentence[0]));
    }
  }
}

TEST(SyntheticCorpus, DrawsEachPlaceWithItsShares) {
  const std::vector<Sentence> corpus = sentences(8000);
  EXPECT_LT(chi_square(column(corpus, 0, 0), fair({"Alice", "Bob", "Carol", "Dave", "Eve"})), kRare4);
  std::set<std::string> adjectives = kPositive;
  adjectives.insert(kNegative.begin(), kNegative.end());
  for (const std::size_t clause : {0, 1}) {
    EXPECT_LT(chi_square(column(corpus, clause, 1), fair({"finishes", "reviews", "trains", "starts", "cooks"})),
              kRare4);
    EXPECT_LT(chi_square(column(corpus, clause, 3), fair({"task", "paper", "model", "project", "meal"})), kRare4);
    EXPECT_LT(chi_square(column(corpus, clause, 5),
                         {{"slightly", 2. / 9}, {"moderately", 2. / 9}, {"very", 3. / 9}, {"extremely", 2. / 9}}),
              kRare3);
    EXPECT_LT(chi_square(column(corpus, clause, 6), fair(adjectives)), kRare9);
  }
  std::vector<std::string> marks, conjunctions, lengths;
  for (const Sentence& sentence : corpus) {
    marks.push_back(sentence.back());
    lengths.push_back(sentence.size() == 16 ? "two" : "one");
    if (sentence.size() == 16) conjunctions.push_back(sentence[7]);
  }
  EXPECT_LT(chi_square(marks, {{".", 8. / 12}, {"!", 3. / 12}, {"?", 1. / 12}}), kRare2);
  EXPECT_LT(chi_square(conjunctions, fair({"and", "but"})), kRare1);
  EXPECT_LT(chi_square(lengths, {{"one", 0.4}, {"two", 0.6}}), kRare1);
}

TEST(SyntheticCorpus, PolarityStaysFairWhenClassesDifferInSize) {
  const Corpus corpus =
      make_synthetic_corpus({.train = 8000, .val = 0, .held_out = {"great", "excellent", "pleasant", "wonderful"}});
  EXPECT_LT(
      chi_square(column(corpus.train, 0, 6),
                 {{"good", 0.5}, {"bad", 0.1}, {"poor", 0.1}, {"terrible", 0.1}, {"unpleasant", 0.1}, {"awful", 0.1}}),
      20.52);  // exceeded once in a thousand with 5 degrees of freedom
}

TEST(SyntheticCorpus, ClausesAndPlacesAreIndependent) {
  std::vector<std::string> pairs;
  const auto sign = [](const std::string& adjective) { return kPositive.contains(adjective) ? "+" : "-"; };
  for (const Sentence& sentence : sentences(8000)) {
    if (sentence.size() == 16) pairs.push_back(std::string(sign(sentence[6])) + sign(sentence[14]));
  }
  EXPECT_LT(chi_square(pairs, fair({"++", "+-", "-+", "--"})), kRare3);
}

TEST(SyntheticCorpus, SecondClauseCanBeNeverOrAlways) {
  for (const Sentence& sentence : make_synthetic_corpus({.train = 300, .second_clause = 0.0, .held_out = {}}).train) {
    EXPECT_EQ(sentence.size(), 8u);
  }
  for (const Sentence& sentence : make_synthetic_corpus({.train = 300, .second_clause = 1.0, .held_out = {}}).train) {
    EXPECT_EQ(sentence.size(), 16u);
  }
}

TEST(SyntheticCorpus, SameSeedSameSentences) {
  EXPECT_EQ(sentences(100, 7), sentences(100, 7));
  EXPECT_NE(sentences(100, 7), sentences(100, 8));
  const Corpus corpus = make_synthetic_corpus({.train = 100, .val = 100, .held_out = {}});
  EXPECT_NE(corpus.train, corpus.val);
}

TEST(SyntheticCorpus, ASentenceDependsOnItsIndexOnly) {
  const Corpus large = make_synthetic_corpus({.train = 8000, .val = 1200, .held_out = paper_held_out_words()});
  const Corpus small = make_synthetic_corpus({.train = 100, .val = 50, .held_out = paper_held_out_words()});
  ASSERT_EQ(small.train.size(), 100u);
  ASSERT_EQ(small.val.size(), 50u);
  EXPECT_TRUE(std::equal(small.train.begin(), small.train.end(), large.train.begin()));
  EXPECT_TRUE(std::equal(small.val.begin(), small.val.end(), large.val.begin()));
}

TEST(SyntheticCorpus, HeldOutWordsAreInValidationOnly) {
  const std::vector<std::string> held_out = paper_held_out_words();
  const Corpus corpus = make_synthetic_corpus({.held_out = held_out});
  ASSERT_EQ(corpus.train.size(), 8000u);
  ASSERT_EQ(corpus.val.size(), 1200u);
  std::set<std::string> train_words, val_words;
  for (const Sentence& sentence : corpus.train) train_words.insert(sentence.begin(), sentence.end());
  for (const Sentence& sentence : corpus.val) val_words.insert(sentence.begin(), sentence.end());
  for (const std::string& word : held_out) EXPECT_FALSE(train_words.contains(word)) << word;
  EXPECT_EQ(train_words.size(), 32u);
  const std::vector<std::string> words = synthetic_corpus_words();
  EXPECT_EQ(val_words, (std::set<std::string>{words.begin(), words.end()}));
}

TEST(SyntheticCorpus, HoldsOutWordsOfEveryClass) {
  const std::vector<std::string> held_out = {"Bob", "reviews", "paper", "very", "great", "awful"};
  const Corpus corpus = make_synthetic_corpus({.seed = 4, .train = 2000, .val = 500, .held_out = held_out});
  std::set<std::string> train_words, val_words;
  for (const Sentence& sentence : corpus.train) train_words.insert(sentence.begin(), sentence.end());
  for (const Sentence& sentence : corpus.val) val_words.insert(sentence.begin(), sentence.end());
  EXPECT_EQ(train_words.size(), 38u - held_out.size());
  for (const std::string& word : held_out) EXPECT_FALSE(train_words.contains(word)) << word;
  EXPECT_EQ(val_words.size(), 38u);
}

TEST(SyntheticCorpus, DrawsAHeldOutWordOfEachClass) {
  std::set<std::string> drawn;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<std::string> held_out = random_held_out_classes(seed);
    ASSERT_EQ(held_out.size(), 5u);
    EXPECT_TRUE(kPositive.contains(held_out[3]) && kNegative.contains(held_out[4]));
    EXPECT_NO_THROW(make_synthetic_corpus({.train = 1, .val = 0, .held_out = held_out}));
    drawn.insert(held_out.begin(), held_out.end());
  }
  EXPECT_EQ(drawn.size(), 25u);  // Five subjects, verbs, objects and adjectives of each polarity.
  EXPECT_EQ(random_held_out_classes(5), random_held_out_classes(5));
}

TEST(SyntheticCorpus, HasThirtyEightWords) {
  const std::vector<std::string> words = synthetic_corpus_words();
  EXPECT_EQ(words.size(), 38u);
  EXPECT_TRUE(std::is_sorted(words.begin(), words.end()));
  EXPECT_EQ(std::count(words.begin(), words.end(), "they"), 0);
}

TEST(SyntheticCorpus, HoldsOutThreeOfEachPolarity) {
  EXPECT_THAT(paper_held_out_words(),
              UnorderedElementsAre("wonderful", "excellent", "great", "terrible", "awful", "unpleasant"));
  std::vector<std::string> all_draws;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const std::vector<std::string> held_out = random_held_out_words(seed);
    const std::set<std::string> distinct(held_out.begin(), held_out.end());
    ASSERT_EQ(held_out.size(), 6u);
    ASSERT_EQ(distinct.size(), 6u);
    EXPECT_EQ(
        std::count_if(held_out.begin(), held_out.end(), [](const auto& word) { return kPositive.contains(word); }), 3);
    EXPECT_EQ(
        std::count_if(held_out.begin(), held_out.end(), [](const auto& word) { return kNegative.contains(word); }), 3);
    all_draws.insert(all_draws.end(), held_out.begin(), held_out.end());
  }
  EXPECT_EQ(random_held_out_words(5), random_held_out_words(5));
  std::set<std::string> adjectives = kPositive;
  adjectives.insert(kNegative.begin(), kNegative.end());
  EXPECT_LT(chi_square(all_draws, fair(adjectives)), kRare9);
}

TEST(SyntheticCorpus, RefusesWhatIsNoProbability) {
  for (const double p : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(error_of({.second_clause = p, .held_out = {}}),
                AllOf(HasSubstr("second_clause is"), HasSubstr("choose a probability in [0, 1]")));
  }
}

TEST(SyntheticCorpus, RefusesUnusableHeldOutWords) {
  EXPECT_THAT(error_of({.held_out = {"excelent"}}),
              AllOf(HasSubstr("\"excelent\""), HasSubstr("did you mean \"excellent\"?")));
  for (const char* const mark : {"the", ",", "and", "she", "!"}) {
    const std::string word = mark;
    EXPECT_THAT(error_of({.held_out = {word}}),
                AllOf(HasSubstr("\"" + word + "\" is not one of its subjects, verbs, objects, intensifiers and adj"),
                      ::testing::Not(HasSubstr("did you mean"))));
  }
  EXPECT_THAT(error_of({.held_out = {"Alice", "Bob", "Carol", "Dave", "Eve"}}), HasSubstr("every subject is held out"));
  EXPECT_THAT(error_of({.held_out = {"task", "paper", "model", "project", "meal"}}),
              HasSubstr("every object is held out"));
  EXPECT_THAT(error_of({.held_out = {"good", "bad", "good"}}), HasSubstr("\"good\" appears twice"));
  EXPECT_THAT(error_of({.held_out = {kPositive.begin(), kPositive.end()}}),
              HasSubstr("every positive adjective is held out"));
  EXPECT_THAT(error_of({.held_out = {kNegative.begin(), kNegative.end()}}),
              HasSubstr("every negative adjective is held out"));
  EXPECT_EQ(error_of({.train = 10, .val = 10, .held_out = {"good", "great", "excellent", "pleasant"}}), "no error");
}

}  // namespace
}  // namespace semfuse
