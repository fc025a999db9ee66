#include "training/polarity_jitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "batching/dataset_batch.h"
#include "data/sentence_dataset.h"
#include "features/feature_bank_access.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using testing::ElementsAre;
using testing::Gt;

const Sentence kGood = {"Alice", "cooks", "the", "meal", ",", "very", "good", "."};
const Sentence kBad = {"Bob", "starts", "the", "task", ",", "slightly", "bad", "!"};

struct JitterCase {
  Vocabulary vocabulary = Vocabulary::from_words(synthetic_corpus_words());
  FeatureBank bank{synthetic_lexicon(), {.bank = FeatureSet::semfuse}};
  std::vector<std::uint8_t> identity = std::vector<std::uint8_t>(vocabulary.size(), 1);

  TokenId id(const std::string& word) const { return *vocabulary.find(word); }
  void take_identity(const std::string& word) { identity[static_cast<std::size_t>(id(word))] = 0; }
  Batch batch(bool count_end = false) const {
    const std::vector<Sentence> sentences = {kGood, kBad};
    const TokenFeatures features(bank, vocabulary);
    return make_batch(SentenceDataset(sentences, vocabulary, {.features = &features}), std::vector<std::size_t>{0, 1},
                      count_end);
  }
};

std::size_t column(const FeatureBank& bank, const char* name) {
  return static_cast<std::size_t>(std::ranges::find(bank.names(), name) - bank.names().begin());
}

TEST(PolarityJitter, ChangesOnlyWordsWithoutIdentityThatHaveAPolarity) {
  JitterCase setup;
  for (const char* word : {"good", "cooks", "very"}) setup.take_identity(word);
  const PolarityJitter jitter(setup.vocabulary, setup.bank, 1.0, 5);
  Batch batch = setup.batch();
  const Batch before = batch;
  const StepWords words = jitter.apply(setup.identity, 7, batch);
  ASSERT_THAT(words.ids, ElementsAre(setup.id("good")));

  // The word's row says that it is positive, but less than the lexicon does; all else is as it was.
  const std::size_t high = column(setup.bank, "pos_high");
  for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
    for (std::size_t f = 0; f < batch.num_features; ++f) {
      const bool changes = batch.inputs[t] == setup.id("good") && f >= column(setup.bank, "pos_low") && f <= high;
      EXPECT_EQ(batch.feature_rows()(t, f) != before.feature_rows()(t, f), changes) << t << ' ' << f;
      if (changes && f == high) {
        EXPECT_LT(batch.feature_rows()(t, f), before.feature_rows()(t, f));
      }
    }
  }
  // The output row is of the same polarity.
  const auto good = static_cast<std::size_t>(std::ranges::find(batch.inputs, setup.id("good")) - batch.inputs.begin());
  EXPECT_EQ(words.features[high], batch.feature_rows()(good, high));
}

TEST(PolarityJitter, IsAFunctionOfSeedStepAndWord) {
  JitterCase setup;
  for (const char* word : {"good", "bad"}) setup.take_identity(word);
  const auto drawn = [&](std::uint64_t seed, std::uint64_t step) {
    Batch batch = setup.batch();
    return PolarityJitter(setup.vocabulary, setup.bank, 1.0, seed).apply(setup.identity, step, batch).features;
  };
  EXPECT_EQ(drawn(1, 2), drawn(1, 2));
  EXPECT_NE(drawn(1, 2), drawn(1, 3));
  EXPECT_NE(drawn(1, 2), drawn(2, 2));
}

TEST(PolarityJitter, DrawsASharePolaritiesBetweenNoneAndTheWordsOwn) {
  JitterCase setup;
  setup.take_identity("bad");
  const FeatureBank ungraded = FeatureBankAccess::ungraded(setup.bank);
  const PolarityJitter jitter(setup.vocabulary, ungraded, 0.5, 1);
  constexpr std::size_t kSteps = 2000;
  std::size_t count = 0;
  std::size_t none = 0;
  double sum = 0.0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    Batch batch = setup.batch();
    const StepWords words = jitter.apply(setup.identity, step, batch);
    if (words.ids.empty()) continue;
    ++count;
    const double negativity = static_cast<double>(words.features[column(setup.bank, "neg_low")]);
    EXPECT_GE(negativity, 0.0);
    EXPECT_LT(negativity, 1.0);
    EXPECT_EQ(words.features[column(setup.bank, "pos_low")], 0.0f);
    sum += negativity;
    if (negativity == 0.0) ++none;
  }
  EXPECT_NEAR(static_cast<double>(count), 0.5 * kSteps, 100.0);
  EXPECT_NEAR(static_cast<double>(none) / static_cast<double>(count), 0.1, 0.03);
  EXPECT_NEAR(sum / static_cast<double>(count - none), 0.5, 0.05);
}

TEST(PolarityJitter, SentencesKeepTheirEndAndTheirLength) {
  // The paper's bank looks ahead at the mark, so that the whole sentence must be told again, <eos> read or not.
  JitterCase setup;
  setup.bank = FeatureBank(synthetic_lexicon(), {.bank = FeatureSet::paper});
  setup.take_identity("bad");
  const PolarityJitter jitter(setup.vocabulary, setup.bank, 1.0, 1);
  for (const bool count_end : {false, true}) {
    Batch batch = setup.batch(count_end);
    const Batch before = batch;
    ASSERT_EQ(jitter.apply(setup.identity, 1, batch).ids.size(), 1u);
    ASSERT_EQ(batch.features.size(), before.features.size());
    for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
      if (batch.inputs[t] == setup.id("bad")) continue;
      for (std::size_t f = 0; f < batch.num_features; ++f) {
        EXPECT_EQ(batch.feature_rows()(t, f), before.feature_rows()(t, f)) << t << ' ' << f;
      }
    }
  }
}

}  // namespace
}  // namespace semfuse
