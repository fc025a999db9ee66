#include "features/class_mass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "features/feature_bank_access.h"

namespace semfuse {
namespace {

struct Words {
  Vocabulary vocabulary;
  std::vector<bool> shown;
  std::vector<float> offsets;

  double share(const std::string& word) const {
    return std::exp(offsets[static_cast<std::size_t>(*vocabulary.find(word))]);
  }
};

// Entries of a lexicon; those after the first `num_shown` were not shown.
Words words_of(std::vector<LexiconEntry> entries, std::size_t num_shown) {
  std::vector<std::string> words = {"<pad>", "<bos>", "<eos>"};
  for (const LexiconEntry& entry : entries) words.push_back(entry.word);
  Words result{.vocabulary = Vocabulary(words), .shown = std::vector<bool>(words.size(), true), .offsets = {}};
  for (std::size_t id = num_shown + 3; id < words.size(); ++id) result.shown[id] = false;
  const FeatureBank bank(Lexicon(std::move(entries)), {.bank = FeatureSet::open});
  result.offsets = class_mass_offsets(FeatureBankAccess::ungraded(bank).word_rows(result.vocabulary), result.shown);
  return result;
}

LexiconEntry adjective(const std::string& word, double polarity) {
  return {.word = word, .word_class = WordClass::kAdjective, .polarity = polarity};
}

TEST(ClassMass, NothingChangesIfEveryWordWasShown) {
  const Words words = words_of({adjective("good", 1), adjective("bad", -1), {.word = "the"}}, 3);
  for (const float offset : words.offsets) EXPECT_EQ(offset, 0.0f);
}

TEST(ClassMass, WordsOfASignShareWhatTheShownOnesHad) {
  const Words words = words_of({adjective("good", 1),
                                adjective("fine", 1),
                                adjective("bad", -1),
                                {.word = "the"},
                                adjective("nice", 0.25),
                                adjective("great", 1)},
                               4);
  for (const char* word : {"good", "fine", "nice", "great"}) EXPECT_NEAR(words.share(word), 0.5, 1e-6) << word;
  for (const char* word : {"bad", "the"}) EXPECT_EQ(words.share(word), 1.0) << word;
}

TEST(ClassMass, AWordWithoutASignCountsHalfForEach) {
  const Words words =
      words_of({adjective("good", 1), adjective("fine", 1), adjective("bad", -1), adjective("odd", 0)}, 3);
  EXPECT_NEAR(words.share("good"), 2 / 2.5, 1e-6);
  EXPECT_NEAR(words.share("bad"), 1 / 1.5, 1e-6);
  EXPECT_NEAR(words.share("odd"), (2 / 2.5 + 1 / 1.5) / 2, 1e-6);
}

TEST(ClassMass, TheTotalStaysWhateverIsAdded) {
  std::vector<LexiconEntry> entries = {adjective("good", 1), adjective("bad", -1), adjective("poor", -0.5)};
  for (int i = 0; i < 1000; ++i) entries.push_back(adjective("w" + std::to_string(i), i % 9 / 4.0 - 1));
  const Words words = words_of(entries, 3);
  double total = 0.0;
  for (const LexiconEntry& entry : entries) total += words.share(entry.word);
  EXPECT_NEAR(total, 3.0, 1e-4);
}

TEST(ClassMass, WordsOfAnUnknownKindHaveTogetherWhatOneHas) {
  const Words words = words_of({adjective("good", 1),
                                {.word = "runs", .word_class = WordClass::kVerb},
                                {.word = "walks", .word_class = WordClass::kVerb}},
                               1);
  EXPECT_NEAR(words.share("runs"), 0.5, 1e-6);
  EXPECT_NEAR(words.share("walks"), 0.5, 1e-6);
  EXPECT_EQ(words.share("good"), 1.0);
}

}  // namespace
}  // namespace semfuse
