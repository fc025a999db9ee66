#include "batching/encoded_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "semfuse/corpus.h"
#include "semfuse/error.h"

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

Batch batch_of(const EncodedCorpus& corpus, const std::vector<std::size_t>& sentences) {
  return corpus.batch(sentences);
}

TEST(EncodedCorpus, CountsTheEnd) {
  const std::vector<Sentence> sentences = {kSentence};
  const EncodedCorpus corpus(sentences, vocabulary(), nullptr, /*count_end=*/true, 28);
  EXPECT_EQ(corpus.size(), 1U);
  EXPECT_EQ(corpus.num_tokens(), 10U);
  const Batch batch = batch_of(corpus, {0});
  EXPECT_THAT(batch.inputs, ElementsAre(1, 6, 9, 10, 8, 4, 11, 7, 3, 2));
  EXPECT_THAT(batch.targets, ElementsAre(6, 9, 10, 8, 4, 11, 7, 3, 2, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(batch.num_features, 0U);
  EXPECT_TRUE(batch.features.empty());
}

TEST(EncodedCorpus, LeavesOutTheEnd) {
  const std::vector<Sentence> sentences = {kSentence};
  const EncodedCorpus corpus(sentences, vocabulary(), nullptr, /*count_end=*/false, 28);
  EXPECT_EQ(corpus.num_tokens(), 9U);
  const Batch batch = batch_of(corpus, {0});
  EXPECT_THAT(batch.inputs, ElementsAre(1, 6, 9, 10, 8, 4, 11, 7, 3));
  EXPECT_THAT(batch.targets, ElementsAre(6, 9, 10, 8, 4, 11, 7, 3, 2));
}

TEST(EncodedCorpus, PacksTheSentencesAsked) {
  const std::vector<Sentence> sentences = {kSentence, kOther, {}};
  const EncodedCorpus corpus(sentences, vocabulary(), nullptr, /*count_end=*/true, 28);
  EXPECT_EQ(corpus.size(), 3U);
  EXPECT_EQ(corpus.num_tokens(), 10U + 5U + 2U);
  const Batch batch = batch_of(corpus, {2, 1, 2});
  EXPECT_THAT(batch.inputs, ElementsAre(1, 2, 1, 7, 8, 5, 2, 1, 2));
  EXPECT_THAT(batch.targets, ElementsAre(2, 0, 7, 8, 5, 2, 0, 2, 0));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1, 2, 3, 4, 0, 1));
  EXPECT_THAT(batch.first_token, ElementsAre(0, 2, 7, 9));
}

TEST(EncodedCorpus, FeatureRowsBelongToTheInputs) {
  const FeatureBank bank(Lexicon::synthetic());
  const std::vector<Sentence> sentences = {kOther, kSentence};
  for (const bool count_end : {true, false}) {
    const EncodedCorpus corpus(sentences, vocabulary(), &bank, count_end, 28);
    const Batch batch = batch_of(corpus, {1, 0});
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

TEST(EncodedCorpus, RefusesSentencesThatAreTooLong) {
  const std::vector<Sentence> sentences = {kOther, kSentence};
  for (const bool count_end : {true, false}) {
    EXPECT_NO_THROW(EncodedCorpus(sentences, vocabulary(), nullptr, count_end, 10));
    EXPECT_THAT([&] { EncodedCorpus(sentences, vocabulary(), nullptr, count_end, 9); },
                ThrowsMessage<Error>(AllOf(HasSubstr("sentence 2 "), HasSubstr("10"), HasSubstr("9"))));
  }
}

TEST(EncodedCorpus, RefusesUnknownWords) {
  const std::vector<Sentence> sentences = {kOther, kSentence, {"good", "papr"}};
  EXPECT_THAT([&] { EncodedCorpus(sentences, vocabulary(), nullptr, true, 28); },
              ThrowsMessage<Error>(AllOf(HasSubstr("sentence 3"), HasSubstr("word 2 \"papr\""))));
}

TEST(EncodedCorpus, HasAsManyPositionsAsThePaperSays) {
  const std::vector<Sentence> sentences = make_synthetic_corpus({.train = 8000, .val = 0}).train;
  const Vocabulary words = Vocabulary::from_words(synthetic_corpus_words());
  const auto mean = [&](bool count_end) {
    return static_cast<double>(EncodedCorpus(sentences, words, nullptr, count_end, 18).num_tokens()) / 8000.0;
  };
  EXPECT_NEAR(mean(true), 14.8, 0.2);  // The mean's standard deviation is 0.044.
  EXPECT_NEAR(mean(false), 13.8, 0.2);
}

}  // namespace
}  // namespace semfuse
