#include "data/sentence_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "batching/dataset_batch.h"
#include "semfuse/error.h"
#include "semfuse/synthetic_corpus.h"

namespace semfuse {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Sentence kSentence = {"Alice", "reviews", "the", "paper", ",", "very", "good", "!"};
const Sentence kOther = {"good", "paper", "."};

// ! 3, "," 4, "." 5, Alice 6, good 7, paper 8, reviews 9, the 10, very 11.
Vocabulary vocabulary() {
  Sentence words = kSentence;
  words.insert(words.end(), kOther.begin(), kOther.end());
  return Vocabulary::from_words(words);
}

std::size_t num_positions_of(const Dataset& dataset, bool count_end) {
  std::size_t positions = 0;
  for (std::size_t s = 0; s < dataset.size(); ++s) positions += num_positions(dataset, s, count_end);
  return positions;
}

TEST(SentenceDataset, CountsTheEnd) {
  const std::vector<Sentence> sentences = {kSentence};
  const SentenceDataset dataset(sentences, vocabulary(), {});
  constexpr bool kCountEnd = true;
  EXPECT_EQ(dataset.size(), 1U);
  EXPECT_EQ(num_positions_of(dataset, kCountEnd), 10U);
  const Batch batch = make_batch(dataset, std::vector<std::size_t>{0}, kCountEnd);
  EXPECT_THAT(batch.inputs, ElementsAre(1, 6, 9, 10, 8, 4, 11, 7, 3, 2));
  EXPECT_THAT(batch.targets, ElementsAre(6, 9, 10, 8, 4, 11, 7, 3, 2, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(batch.num_features, 0U);
  EXPECT_TRUE(batch.features.empty());
}

TEST(SentenceDataset, LeavesOutTheEnd) {
  const std::vector<Sentence> sentences = {kSentence};
  const SentenceDataset dataset(sentences, vocabulary(), {});
  constexpr bool kCountEnd = false;
  EXPECT_EQ(num_positions_of(dataset, kCountEnd), 9U);
  const Batch batch = make_batch(dataset, std::vector<std::size_t>{0}, kCountEnd);
  EXPECT_THAT(batch.inputs, ElementsAre(1, 6, 9, 10, 8, 4, 11, 7, 3));
  EXPECT_THAT(batch.targets, ElementsAre(6, 9, 10, 8, 4, 11, 7, 3, 2));
}

TEST(SentenceDataset, PacksTheSentencesAsked) {
  const std::vector<Sentence> sentences = {kSentence, kOther, {}};
  const SentenceDataset dataset(sentences, vocabulary(), {});
  constexpr bool kCountEnd = true;
  EXPECT_EQ(dataset.size(), 3U);
  EXPECT_EQ(num_positions_of(dataset, kCountEnd), 10U + 5U + 2U);
  const Batch batch = make_batch(dataset, std::vector<std::size_t>{2, 1, 2}, kCountEnd);
  EXPECT_THAT(batch.inputs, ElementsAre(1, 2, 1, 7, 8, 5, 2, 1, 2));
  EXPECT_THAT(batch.targets, ElementsAre(2, 0, 7, 8, 5, 2, 0, 2, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1, 2, 3, 4, 0, 1));
  EXPECT_THAT(batch.first_token, ElementsAre(0, 2, 7, 9));
}

TEST(SentenceDataset, FeatureRowsBelongToTheInputs) {
  const FeatureBank bank(synthetic_lexicon());
  const std::vector<Sentence> sentences = {kOther, kSentence};
  for (const bool count_end : {true, false}) {
    const Vocabulary words = vocabulary();
    const TokenFeatures features(bank, words);
    const SentenceDataset dataset(sentences, words, {.features = &features});
    const Batch batch = make_batch(dataset, std::vector<std::size_t>{1, 0}, count_end);
    ASSERT_EQ(batch.num_features, 22U);
    ASSERT_EQ(batch.features.size(), batch.num_tokens() * 22U);
    ASSERT_EQ(batch.num_sentences(), 2U);
    for (std::size_t s = 0; s < 2; ++s) {
      const FeatureMatrix rows = bank.rows(sentences[1 - s]);
      EXPECT_EQ(batch.length(s), rows.num_rows - (count_end ? 0 : 1));
      for (std::size_t t = 0; t < batch.length(s); ++t) {
        for (std::size_t f = 0; f < 22; ++f) {
          EXPECT_EQ(batch.feature_rows()(batch.first_token[s] + t, f), rows.row(t)[f]) << s << ' ' << t << ' ' << f;
        }
      }
    }
    const auto feature = [&](const std::string& name, std::size_t t) {
      const auto found = std::find(bank.names().begin(), bank.names().end(), name);
      return batch.feature_rows()(t, static_cast<std::size_t>(found - bank.names().begin()));
    };
    for (std::size_t t = 0; t < batch.num_tokens(); ++t) {
      EXPECT_EQ(feature("is_bos", t), batch.inputs[t] == Vocabulary::kBos ? 1.0f : 0.0f) << t;
      EXPECT_EQ(feature("is_eos", t), batch.inputs[t] == Vocabulary::kEos ? 1.0f : 0.0f) << t;
      EXPECT_EQ(feature("is_verb", t), batch.inputs[t] == 9 ? 1.0f : 0.0f) << t;
      EXPECT_EQ(feature("is_adj", t), batch.inputs[t] == 7 ? 1.0f : 0.0f) << t;
    }
  }
}

TEST(SentenceDataset, RefusesSentencesThatAreTooLong) {
  const std::vector<Sentence> sentences = {kOther, kSentence};
  EXPECT_NO_THROW(SentenceDataset(sentences, vocabulary(), {.max_length = 10}));
  EXPECT_THAT([&] { SentenceDataset(sentences, vocabulary(), {.max_length = 9}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("sentence 2 "), HasSubstr("10"), HasSubstr("9"))));
}

TEST(SentenceDataset, RefusesUnknownWords) {
  const std::vector<Sentence> sentences = {kOther, kSentence, {"good", "papr"}};
  EXPECT_THAT([&] { SentenceDataset(sentences, vocabulary(), {}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("sentence 3"), HasSubstr("word 2 \"papr\""))));
}

TEST(SentenceDataset, HasAsManyPositionsAsThePaperSays) {
  const std::vector<Sentence> sentences = make_synthetic_corpus({.train = 8000, .val = 0}).train;
  const Vocabulary words = Vocabulary::from_words(synthetic_corpus_words());
  const auto mean = [&](bool count_end) {
    return static_cast<double>(num_positions_of(SentenceDataset(sentences, words, {.max_length = 18}), count_end)) /
           8000.0;
  };
  EXPECT_NEAR(mean(true), 14.8, 0.2);  // The mean's standard deviation is 0.044.
  EXPECT_NEAR(mean(false), 13.8, 0.2);
}

TEST(SentenceDataset, HasLabelsOfKnobsAndCountsBytes) {
  const std::vector<Knob> knobs = {parse_knob("length: scalar of length from 1 to 20"),
                                   parse_knob("mark: distribution of final_mark over . !")};
  const std::vector<Sentence> sentences = {kSentence, kOther};
  const Lexicon lexicon = synthetic_lexicon();
  const SentenceDataset dataset(sentences, vocabulary(), {.knobs = knobs, .lexicon = &lexicon});
  EXPECT_EQ(dataset.label(0, 0).value, 8.0);
  EXPECT_EQ(dataset.label(1, 0).value, 3.0);
  EXPECT_EQ(dataset.label(0, 1).label, 1U);
  EXPECT_EQ(dataset.label(1, 1).label, 0U);
  EXPECT_EQ(dataset.num_bytes(), std::string("Alice reviews the paper, very good!\ngood paper.\n").size());
}

}  // namespace
}  // namespace semfuse
