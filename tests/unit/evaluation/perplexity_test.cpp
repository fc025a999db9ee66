#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "model/model_access.h"
#include "semfuse/error.h"
#include "semfuse/evaluation.h"
#include "semfuse/synthetic_corpus.h"
#include "support/reference_losses.h"
#include "support/small_language_model.h"

namespace semfuse {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto kPerplexityCausal = AttentionMask::causal;
constexpr auto kBidirectional = AttentionMask::bidirectional;

// The twin's evaluation, all sentences at once and in double.
Evaluation expected_evaluation(const LanguageModel& model, std::span<const Sentence> sentences, bool count_end,
                               const std::vector<std::string>& held_out) {
  const Batch batch = batch_by_hand(model, sentences, count_end);
  const auto tables = reference::tables_of(ModelAccess::network(model).layout(), ModelAccess::weights(model));
  const auto hidden = reference::encode(tables, batch, model.options(), {});
  const auto logits = reference::token_head(tables, hidden);
  double all = 0.0, seen = 0.0, num_seen = 0.0, held = 0.0, num_held = 0.0, after = 0.0, num_after = 0.0;
  const auto is_held_out = [&](TokenId token) {
    return std::find(held_out.begin(), held_out.end(), model.vocabulary().word(token)) != held_out.end();
  };
  for (std::size_t t = 0; t < logits.rows; ++t) {
    double sum = 0.0;
    for (std::size_t v = 0; v < logits.cols; ++v) sum += std::exp(logits(t, v));
    const TokenId target = batch.targets[t];
    const double cross_entropy = std::log(sum) - logits(t, static_cast<std::size_t>(target));
    all += cross_entropy;
    if (is_held_out(batch.inputs[t])) {
      after += cross_entropy;
      num_after += 1.0;
    }
    (is_held_out(target) ? held : seen) += cross_entropy;
    (is_held_out(target) ? num_held : num_seen) += 1.0;
  }
  Evaluation result{.attention = model.options().attention,
                    .num_positions = logits.rows,
                    .perplexity = std::exp(all / static_cast<double>(logits.rows)),
                    .seen_only_perplexity = std::exp(seen / num_seen),
                    .held_out_cross_entropy = held / num_held,
                    .after_held_out_cross_entropy = after / num_after};
  if (batch.num_features > 0) {
    const auto read = reference::feature_head(tables, hidden);
    for (std::size_t t = 0; t < read.rows; ++t) {
      for (std::size_t f = 0; f < read.cols; ++f) {
        const double error = reference::sigmoid(read(t, f)) - static_cast<double>(batch.feature_rows()(t, f));
        result.feature_mse += error * error / static_cast<double>(read.rows * read.cols);
      }
    }
  }
  return result;
}

struct Case {
  std::string name;
  AttentionMask attention;
  bool fusion;
  bool count_end;
  std::size_t num_sentences = 5;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class EvaluateTest : public testing::TestWithParam<Case> {};

TEST_P(EvaluateTest, EqualsTheTwin) {
  const Case& c = GetParam();
  const LanguageModel model = random_model(small_options(c.attention, c.fusion));
  const std::vector<Sentence> sentences = some_sentences(c.num_sentences);
  const std::vector<std::string> held_out = paper_held_out_words();
  const Evaluation expected = expected_evaluation(model, sentences, c.count_end, held_out);
  const Evaluation result = evaluate(model, sentences, {.held_out = held_out, .count_end = c.count_end, .threads = 2});

  EXPECT_EQ(result.attention, c.attention);
  EXPECT_EQ(result.num_positions, expected.num_positions);
  EXPECT_NEAR(result.perplexity, expected.perplexity, 1e-5 * expected.perplexity);
  ASSERT_EQ(result.sentence_nats.size(), sentences.size());
  double nats = 0.0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    const Evaluation alone = evaluate(model, std::span(sentences).subspan(i, 1), {.count_end = c.count_end});
    EXPECT_NEAR(result.sentence_nats[i], std::log(alone.perplexity) * static_cast<double>(alone.num_positions), 1e-4);
    nats += result.sentence_nats[i];
  }
  EXPECT_NEAR(nats, std::log(result.perplexity) * static_cast<double>(result.num_positions), 1e-6);
  EXPECT_NEAR(result.seen_only_perplexity, expected.seen_only_perplexity, 1e-5 * expected.seen_only_perplexity);
  EXPECT_GT(std::abs(expected.perplexity - expected.seen_only_perplexity), 1e-2) << "no target was held out";
  if (c.fusion) {
    EXPECT_NEAR(result.feature_mse, expected.feature_mse, 1e-5 * expected.feature_mse);
    EXPECT_GT(expected.feature_mse, 0.01);
  } else {
    EXPECT_TRUE(std::isnan(result.feature_mse));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, EvaluateTest,
                         testing::Values(Case{"fusion_causal", kPerplexityCausal, true, true},
                                         Case{"fusion_bidirectional", kBidirectional, true, true},
                                         Case{"fusion_causal_without_end", kPerplexityCausal, true, false},
                                         Case{"baseline_causal", kPerplexityCausal, false, true},
                                         Case{"baseline_bidirectional", kBidirectional, false, true},
                                         Case{"baseline_bidirectional_without_end", kBidirectional, false, false},
                                         Case{"more_than_a_batch", kBidirectional, true, true, 150}),
                         [](const auto& test) { return test.param.name; });

TEST(Evaluate, DoesNotDependOnTheThreads) {
  const LanguageModel model = random_model(small_options(kPerplexityCausal, true));
  const std::vector<Sentence> sentences = some_sentences(150);
  EvaluationOptions options{.held_out = paper_held_out_words(), .threads = 1};
  const Evaluation expected = evaluate(model, sentences, options);
  EXPECT_TRUE(std::isfinite(expected.perplexity));
  for (const std::size_t threads : {1, 2, 3, 0}) {
    options.threads = threads;
    const Evaluation result = evaluate(model, sentences, options);
    EXPECT_EQ(result.perplexity, expected.perplexity) << threads;
    EXPECT_EQ(result.sentence_nats, expected.sentence_nats) << threads;
    EXPECT_EQ(result.seen_only_perplexity, expected.seen_only_perplexity) << threads;
    EXPECT_EQ(result.feature_mse, expected.feature_mse) << threads;
  }
}

TEST(Evaluate, WithoutHeldOutWordsSeenOnlyIsAll) {
  const LanguageModel model = random_model(small_options(kPerplexityCausal, false));
  const Evaluation result = evaluate(model, some_sentences(5), {.threads = 1});
  EXPECT_EQ(result.seen_only_perplexity, result.perplexity);
}

// Also with some targets left out: each position has the same cross-entropy.
TEST(Evaluate, UniformPredictorHasThePerplexityOfTheVocabulary) {
  for (const bool fusion : {false, true}) {
    LanguageModel model = random_model(small_options(kPerplexityCausal, fusion));
    model.set_parameter("tok.weight", std::vector<float>(41 * 16, 0.0f));
    const Evaluation result = evaluate(model, some_sentences(20), {.held_out = paper_held_out_words(), .threads = 1});
    EXPECT_NEAR(result.perplexity, 41.0, 1e-4);
    EXPECT_NEAR(result.seen_only_perplexity, 41.0, 1e-4);
  }
}

TEST(Evaluate, FeaturesReadAsOneHalfHaveTheErrorOfOneHalf) {
  LanguageModel model = random_model(small_options(kPerplexityCausal, true));
  model.set_parameter("aux_head.2.weight", std::vector<float>(22 * 20, 0.0f));
  model.set_parameter("aux_head.2.bias", std::vector<float>(22, 0.0f));
  const std::vector<Sentence> sentences = some_sentences(3);
  double sum = 0.0, count = 0.0;
  for (const Sentence& sentence : sentences) {
    for (const float value : model.feature_bank().rows(sentence).values) {
      sum += (static_cast<double>(value) - 0.5) * (static_cast<double>(value) - 0.5);
      count += 1.0;
    }
  }
  EXPECT_NEAR(evaluate(model, sentences, {.threads = 1}).feature_mse, sum / count, 1e-6);
}

TEST(Evaluate, SeenOnlyIsNaNIfEveryTargetIsHeldOut) {
  const LanguageModel model = random_model(small_options(kPerplexityCausal, false));
  const std::vector<Sentence> sentences = {{"great"}, {"awful", "great"}};
  EvaluationOptions options{.held_out = {"great", "awful"}, .count_end = false, .threads = 1};
  EXPECT_TRUE(std::isfinite(evaluate(model, sentences, options).seen_only_perplexity)) << "<eos> is a target too";
  options.held_out.push_back("<eos>");
  const Evaluation result = evaluate(model, sentences, options);
  EXPECT_EQ(result.num_positions, 5U);
  EXPECT_TRUE(std::isfinite(result.perplexity));
  EXPECT_TRUE(std::isnan(result.seen_only_perplexity));
}

TEST(Evaluate, RefusesWhatItCannotMeasure) {
  const LanguageModel model = synthetic_model(small_options(kPerplexityCausal, true));
  const std::vector<Sentence> sentences = some_sentences(3);
  const auto attempt = [&](const std::vector<Sentence>& list, const EvaluationOptions& options) {
    return [&model, list, options] { evaluate(model, list, options); };
  };
  EXPECT_THAT(attempt({}, {}), ThrowsMessage<Error>(HasSubstr("no sentence")));
  EXPECT_THAT(attempt(sentences, {.held_out = {"great", "graet"}}),
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("\"graet\""), HasSubstr("great"))));
  EXPECT_THAT(attempt({{"Alice"}, {"Alyce"}}, {}),
              ThrowsMessage<Error>(testing::AllOf(HasSubstr("sentence 2"), HasSubstr("\"Alyce\""))));
  EXPECT_THAT(attempt({{"Alice"}, {"Alice", "and"}}, {.max_length = 3}), ThrowsMessage<Error>(HasSubstr("sentence 2")));
  EXPECT_NO_THROW(attempt({{"Alice"}, {"Alice", "and"}}, {.max_length = 4})());
}

}  // namespace
}  // namespace semfuse
