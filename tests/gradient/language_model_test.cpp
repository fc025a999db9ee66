// The whole training step: losses and every gradient against the plain twin.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "features/graded_columns.h"
#include "support/gradient_check.h"
#include "support/reference_losses.h"
#include "support/small_model.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

struct Case {
  std::string name;
  std::size_t features = 5;
  AttentionMask attention = AttentionMask::bidirectional;
  double dropout = 0.3;
  std::size_t sentences_per_shard = 2;
  std::size_t chunk_logits = TrainingStep::kChunkLogits;
  std::vector<std::size_t> lengths = {4, 1, 3, 2};
  std::size_t vocab_size = 13;
  ModelOptions model = {.width = 12, .layers = 2, .heads = 3, .feed_forward = 10, .feature_head = 7};
  double class_loss = 0.0;
  double identity_dropout = 0.0;
  std::vector<TokenId> words = {};  // Of the softmax; targets outside become the nearest one below.
  FeatureOptions feature_options = {};
  std::vector<TokenId> changed_words = {};  // Those with features of the step's own.
};

// Feature rows of words, every third like the one before, so that classes have one word or two.
std::vector<float> random_word_features(std::size_t vocab_size, std::size_t num_features) {
  RandomStream random(21, RandomPurpose::corpus_val);
  std::vector<float> rows;
  for (std::size_t word = 0; word < vocab_size; ++word) {
    for (std::size_t f = 0; f < num_features; ++f) {
      rows.push_back(word % 3 == 2 ? rows[rows.size() - num_features] : static_cast<float>(random.next_uniform()));
    }
  }
  return rows;
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

class LanguageModelGradient : public testing::TestWithParam<Case> {};

TEST_P(LanguageModelGradient, EqualsTheTwin) {
  const Case& c = GetParam();
  ModelOptions options = c.model;
  options.attention = c.attention;
  options.fusion = c.features > 0;
  const LossOptions loss_options{.label_smoothing = 0.1,
                                 .feature_loss = 0.7,
                                 .uniformity_loss = 0.5,
                                 .classes = {{2, 3, 5}, {7, 1, 11, 4}},
                                 .class_loss = c.class_loss,
                                 .identity_dropout = c.identity_dropout,
                                 .words = c.words};
  Batch batch = random_batch(c.lengths, c.vocab_size, c.features, 1);
  cut_shards(batch, c.sentences_per_shard);
  batch.num_request_columns = request_columns(options.knobs);
  RandomStream random(8, RandomPurpose::requests);
  for (std::size_t i = 0; i < batch.num_sentences() * batch.num_request_columns; ++i) {
    batch.requests.push_back(static_cast<float>(random.next_uniform()));
  }
  for (TokenId& target : batch.targets) {
    if (!c.words.empty()) target = *(std::upper_bound(c.words.begin(), c.words.end(), target) - 1);
  }
  std::vector<float> word_features = random_word_features(c.vocab_size, c.features);
  if (c.feature_options.learn_kernel) {
    for (const GradedColumn& graded : graded_columns()) word_features[graded.column] = kNoAttribute;
  }
  const reference::Table<double> word_table =
      reference::table_of({word_features.data(), c.features > 0 ? c.vocab_size : 0, c.features});
  const Network network(options, c.vocab_size, c.features, word_features, c.feature_options);
  const ParameterBlock weights = random_weights(network.layout(), 2);
  const DropoutPlan plan{.rate = c.dropout, .seed = 3, .step = 4};

  ThreadPool pool(2);
  TrainingStep step(network, loss_options, pool, c.chunk_logits);
  ParameterBlock gradients(network.layout());
  // What an earlier step left behind must not be added to.
  for (const ParameterInfo& info : network.layout().entries()) std::fill_n(gradients.vector(info), info.size, 1e3f);
  StepWords step_words{.ids = c.changed_words, .features = {}};
  reference::Table<double> step_table = word_table;
  for (const TokenId word : c.changed_words) {
    for (std::size_t f = 0; f < c.features; ++f) {
      step_words.features.push_back(static_cast<float>(random.next_uniform()));
      step_table(static_cast<std::size_t>(word), f) = static_cast<double>(step_words.features.back());
    }
  }
  // What words meant in an earlier step must be forgotten.
  step.run(batch, weights, plan, gradients, {.ids = {6, 7}, .features = std::vector<float>(2 * c.features, 0.5f)});
  const Losses losses = step.run(batch, weights, plan, gradients, step_words);

  const reference::Tables<double> tables = reference::tables_of(network.layout(), weights);
  const reference::LossValues<double> expected =
      reference::losses(tables, batch, options, loss_options, plan, word_table, c.feature_options, step_table);
  EXPECT_NEAR(losses.tokens, expected.tokens, 1e-5 * expected.tokens);
  EXPECT_NEAR(losses.features, expected.features, 1e-5 * expected.features);
  EXPECT_NEAR(losses.uniformity, expected.uniformity, 1e-5 * expected.uniformity);
  EXPECT_NEAR(losses.classes, expected.classes, 1e-5 * expected.classes);
  EXPECT_EQ(c.class_loss > 0.0, expected.classes > 0.0);
  EXPECT_NEAR(losses.total, expected.total, 1e-5 * expected.total);
  EXPECT_GT(expected.uniformity, 0.0);

  const auto objective = [&](const reference::Tables<std::complex<double>>& at) {
    return reference::losses(at, batch, options, loss_options, plan, word_table, c.feature_options, step_table).total;
  };
  expect_close(reference::tables_of(network.layout(), gradients), complex_step(tables, objective));
}

template <class Change>
ModelOptions with(const Change& change) {
  ModelOptions options = Case().model;
  change(options);
  return options;
}

FeatureOptions learned(MembershipKernel kernel) {
  return {.kernel = kernel, .kernel_base = 0.3, .learn_kernel = true};
}

std::vector<Knob> two_knobs() {
  return {parse_knob("polarity: probability of polarity"), parse_knob("mark: distribution of final_mark over . !")};
}

std::vector<Case> cases() {
  constexpr auto kCausal = AttentionMask::causal;
  return {
      {.name = "fusion_causal", .attention = kCausal},
      {.name = "fusion_bidirectional", .sentences_per_shard = 1},
      {.name = "baseline_causal", .features = 0, .attention = kCausal},
      {.name = "baseline_bidirectional", .features = 0, .sentences_per_shard = 4},
      {.name = "without_dropout", .attention = kCausal, .dropout = 0.0},
      // So few logits at a time that the batch falls into chunks, of a sentence each or of more.
      {.name = "split_logits", .sentences_per_shard = 1, .chunk_logits = 2 * 13},
      {.name = "split_logits_baseline",
       .features = 0,
       .attention = kCausal,
       .sentences_per_shard = 1,
       .chunk_logits = 5 * 13},
      // The parts of the semfuse model, one by one and together.
      {.name = "without_gate", .model = with([](ModelOptions& m) { m.gate = false; })},
      {.name = "output_features", .model = with([](ModelOptions& m) { m.output_features = true; })},
      {.name = "class_loss", .attention = kCausal, .class_loss = 0.6},
      {.name = "identity_dropout", .attention = kCausal, .identity_dropout = 0.5},
      {.name = "identity_dropout_baseline", .features = 0, .attention = kCausal, .identity_dropout = 0.5},
      {.name = "some_words", .attention = kCausal, .words = {0, 1, 2, 4, 5, 7, 9, 11}},
      {.name = "open_vocabulary",
       .attention = kCausal,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11}},
      {.name = "open_vocabulary_split",
       .attention = kCausal,
       .sentences_per_shard = 1,
       .chunk_logits = 3 * 9,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11}},
      // Words that mean something else in a step, one of them outside of the softmax.
      {.name = "changed_words",
       .attention = kCausal,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .changed_words = {3, 4, 6}},
      {.name = "learned_changed_words",
       .features = 22,
       .attention = kCausal,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .feature_options = learned(MembershipKernel::gaussian),
       .changed_words = {3, 4, 6}},
      // What a sentence is asked for.
      {.name = "knobs", .attention = kCausal, .model = with([](ModelOptions& m) { m.knobs = two_knobs(); })},
      {.name = "knobs_without_gate_split",
       .attention = kCausal,
       .sentences_per_shard = 1,
       .chunk_logits = 2 * 13,
       .model = with([](ModelOptions& m) {
         m.knobs = two_knobs();
         m.gate = false;
       })},
      {.name = "knobs_learned_open_vocabulary",
       .features = 22,
       .attention = kCausal,
       .model = with([](ModelOptions& m) {
         m.knobs = two_knobs();
         m.output_features = true;
       }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .feature_options = learned(MembershipKernel::power)},
      // Memberships that are learned, by each way in which a loss reads them and by all together.
      {.name = "learned_power",
       .features = 22,
       .attention = kCausal,
       .feature_options = learned(MembershipKernel::power)},
      {.name = "learned_gaussian_without_gate",
       .features = 22,
       .model = with([](ModelOptions& m) { m.gate = false; }),
       .feature_options = learned(MembershipKernel::gaussian)},
      {.name = "learned_triangular_class_loss",
       .features = 22,
       .attention = kCausal,
       .class_loss = 0.6,
       .feature_options = learned(MembershipKernel::triangular)},
      {.name = "learned_open_vocabulary",
       .features = 22,
       .attention = kCausal,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .feature_options = learned(MembershipKernel::power)},
      {.name = "learned_open_vocabulary_split",
       .features = 22,
       .attention = kCausal,
       .sentences_per_shard = 1,
       .chunk_logits = 3 * 9,
       .model = with([](ModelOptions& m) { m.output_features = true; }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .feature_options = learned(MembershipKernel::gaussian)},
      // Layers that normalise first, alone and with the parts that read the hidden state or the embedding.
      {.name = "pre_norm", .features = 0, .attention = kCausal, .model = with([](ModelOptions& m) {
                                                                  m.norm = NormPlace::pre;
                                                                })},
      {.name = "distance_bias",
       .features = 0,
       .attention = kCausal,
       .lengths = {11, 1, 3},
       .model = with([](ModelOptions& m) { m.distance_bias = true; })},
      {.name = "pre_norm_bidirectional_split",
       .sentences_per_shard = 1,
       .chunk_logits = 2 * 13,
       .model = with([](ModelOptions& m) { m.norm = NormPlace::pre; })},
      {.name = "scaled_embedding", .features = 0, .attention = kCausal, .model = with([](ModelOptions& m) {
                                                                          m.scaled_embedding = true;
                                                                        })},
      {.name = "pre_norm_scaled_open_vocabulary",
       .features = 22,
       .attention = kCausal,
       .model = with([](ModelOptions& m) {
         m.norm = NormPlace::pre;
         m.scaled_embedding = true;
         m.distance_bias = true;
         m.output_features = true;
         m.knobs = two_knobs();
       }),
       .class_loss = 0.6,
       .identity_dropout = 0.4,
       .words = {0, 1, 2, 3, 5, 6, 7, 8, 11},
       .feature_options = learned(MembershipKernel::power)},
      // Every size past a vector of 16, so that whole vectors and remainders meet.
      {.name = "past_a_vector",
       .features = 17,
       .lengths = {19, 2},
       .vocab_size = 37,
       .model = {.width = 18, .layers = 1, .heads = 1, .feed_forward = 33, .feature_head = 20}},
      // A shard whose logits become gradients in two parts.
      {.name = "long_text",
       .attention = kCausal,
       .lengths = {2, TrainingStep::kHeadTokens + 11},
       .model = {.width = 6, .layers = 1, .heads = 1, .feed_forward = 5, .feature_head = 3}},
  };
}

INSTANTIATE_TEST_SUITE_P(Cases, LanguageModelGradient, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace semfuse
