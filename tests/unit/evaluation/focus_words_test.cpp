#include "evaluation/focus_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "evaluation/corpus_pass.h"
#include "semfuse/error.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

constexpr auto kCausal = AttentionMask::causal;

std::vector<Sentence> two_sentences() {
  return {split_words("Alice reviews the paper, very good!"), split_words("Bob reviews the model, slightly good and he "
                                                                          "trains the paper, very bad?")};
}

TEST(WordCrossEntropies, CountsEveryOccurrenceAsTarget) {
  const LanguageModel model = random_model(small_options(kCausal, true));
  const std::vector<std::pair<std::string, std::size_t>> expected = {
      {"good", 2}, {"very", 2},  {"reviews", 2}, {"the", 3},   {",", 3},    {"!", 1},
      {"?", 1},    {"Alice", 1}, {"great", 0},   {"<eos>", 2}, {"<pad>", 2}};
  std::vector<std::string> words;
  for (const auto& [word, count] : expected) words.push_back(word);
  const std::vector<WordCrossEntropy> result = word_cross_entropies(model, two_sentences(), words, {.threads = 1});
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result[i].word, expected[i].first);
    EXPECT_EQ(result[i].occurrences, expected[i].second) << expected[i].first;
  }
  // <bos> is read, never predicted, and <pad> is predicted only where <eos> is read.
  EXPECT_EQ(word_cross_entropies(model, two_sentences(), {"<bos>"}, {.threads = 1})[0].occurrences, 0U);
  EXPECT_EQ(word_cross_entropies(model, two_sentences(), {"<pad>"}, {.count_end = false, .threads = 1})[0].occurrences,
            0U);
}

TEST(WordCrossEntropies, OfAUniformPredictorIsTheLogarithmOfTheVocabulary) {
  for (const bool fusion : {false, true}) {
    LanguageModel model = random_model(small_options(kCausal, fusion));
    model.set_parameter("tok.weight", std::vector<float>(41 * 16, 0.0f));
    for (const WordCrossEntropy& word : word_cross_entropies(model, some_sentences(100), {"good", "!", ",", "the"})) {
      EXPECT_GT(word.occurrences, 0U) << word.word;
      EXPECT_NEAR(word.cross_entropy, std::log(41.0), 1e-5) << word.word;
    }
  }
}

TEST(WordCrossEntropies, AWordThatDoesNotOccurHasNone) {
  const LanguageModel model = random_model(small_options(kCausal, false));
  for (const WordCrossEntropy& word : word_cross_entropies(model, two_sentences(), {"great", "marvellous", ""})) {
    EXPECT_EQ(word.occurrences, 0U) << word.word;
    EXPECT_TRUE(std::isnan(word.cross_entropy)) << word.word;
  }
  EXPECT_TRUE(word_cross_entropies(model, two_sentences(), {}).empty());
}

TEST(WordCrossEntropies, IsTheMeanOfTheModelsOwnLogits) {
  const LanguageModel model = random_model(small_options(kCausal, false));
  const Sentence sentence = split_words("Alice reviews the paper, very good!");
  const std::vector<float> logits = model.logits(sentence);
  const std::size_t good = 6;  // Words before it.
  double sum = 0.0;
  for (std::size_t v = 0; v < 41; ++v) sum += std::exp(static_cast<double>(logits[good * 41 + v]));
  const auto id = static_cast<std::size_t>(*model.vocabulary().find("good"));
  const std::vector<Sentence> sentences = {sentence, sentence};
  const WordCrossEntropy word = word_cross_entropies(model, sentences, {"good"})[0];
  EXPECT_EQ(word.occurrences, 2U);
  EXPECT_NEAR(word.cross_entropy, std::log(sum) - static_cast<double>(logits[good * 41 + id]), 1e-4);
}

TEST(WordCrossEntropies, OfAllWordsTogetherIsThePerplexity) {
  for (const bool count_end : {true, false}) {
    const LanguageModel model = random_model(small_options(AttentionMask::bidirectional, true));
    const std::vector<Sentence> sentences = some_sentences(150);
    const EvaluationOptions options = {.count_end = count_end, .threads = 2};
    double sum = 0.0;
    std::size_t occurrences = 0;
    for (const WordCrossEntropy& word : word_cross_entropies(model, sentences, model.vocabulary().entries(), options)) {
      if (word.occurrences == 0) continue;
      sum += word.cross_entropy * static_cast<double>(word.occurrences);
      occurrences += word.occurrences;
    }
    const Evaluation expected = evaluate(model, sentences, options);
    EXPECT_EQ(occurrences, expected.num_positions);
    EXPECT_NEAR(std::exp(sum / static_cast<double>(occurrences)), expected.perplexity, 1e-5 * expected.perplexity);
  }
}

TEST(WordCrossEntropies, DoesNotDependOnTheThreads) {
  const LanguageModel model = random_model(small_options(kCausal, true));
  const std::vector<Sentence> sentences = some_sentences(150);
  const auto values = [&](std::size_t threads) {
    std::vector<double> list;
    for (const WordCrossEntropy& word : word_cross_entropies(model, sentences, {"good", "!"}, {.threads = threads}))
      list.push_back(word.cross_entropy);
    return list;
  };
  EXPECT_EQ(values(1), values(2));
  EXPECT_EQ(values(1), values(3));
}

TEST(WordCrossEntropies, RefusesWhatEvaluateRefuses) {
  const LanguageModel model = random_model(small_options(kCausal, true));
  EXPECT_THROW(word_cross_entropies(model, {}, {"good"}), Error);
  const std::vector<Sentence> unknown = {{"Alyce"}};
  EXPECT_THROW(word_cross_entropies(model, unknown, {"good"}), Error);
}

TEST(CorpusPass, VisitsTargetsInTheOrderOfTheText) {
  const LanguageModel model = random_model(small_options(kCausal, false));
  const std::vector<Sentence> sentences = some_sentences(150);
  std::vector<TokenId> expected;
  for (const Sentence& sentence : sentences) {
    const std::vector<TokenId> ids = model.vocabulary().encode(sentence);
    expected.insert(expected.end(), ids.begin() + 1, ids.end());
  }
  std::vector<TokenId> targets;
  for_each_target(model, sentences, {.count_end = false, .threads = 3}, [&](std::size_t target, double cross_entropy) {
    targets.push_back(static_cast<TokenId>(target));
    EXPECT_GE(cross_entropy, -1e-5);
  });
  EXPECT_EQ(targets, expected);
}

}  // namespace
}  // namespace semfuse
