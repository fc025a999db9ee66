// The same seed gives the same bytes for any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "support/small_model.h"
#include "training/adamw.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

struct TrainingCase {
  std::size_t num_features;
  AttentionMask attention;
  std::size_t chunk_logits;
  bool open = false;  // Output features, class loss and identity dropout, with a few words outside of the softmax.
  bool learn_kernel = false;
  NormPlace norm = NormPlace::post;
};

constexpr std::size_t kVocab = 1500;  // With width 24 more parameters than one task of the optimizer takes.

std::vector<std::size_t> lengths_of(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out);
  std::vector<std::size_t> lengths(35);
  for (std::size_t& length : lengths) length = 1 + random.next_below(30);
  return lengths;
}

ParameterBlock weights_after_steps(const TrainingCase& c, std::size_t num_threads, std::uint64_t seed,
                                   std::vector<double>* losses = nullptr) {
  const ModelOptions options{
      .width = 24, .layers = 2, .heads = 4, .feed_forward = 40, .attention = c.attention, .feature_head = 12};
  ModelOptions chosen = options;
  chosen.output_features = c.open;
  chosen.norm = c.norm;
  LossOptions losses_of_step{
      .label_smoothing = 0.02, .feature_loss = 0.5, .uniformity_loss = 0.1, .classes = {{1, 2, 3}, {4, 5}}};
  std::vector<float> word_features;
  if (c.open) {
    losses_of_step.class_loss = 0.5;
    losses_of_step.identity_dropout = 0.3;
    RandomStream random(3, RandomPurpose::held_out);
    for (std::size_t i = 0; i < kVocab * c.num_features; ++i) {
      word_features.push_back(static_cast<float>(random.next_below(2)));
    }
  }
  const Network network(chosen, kVocab, c.num_features, word_features, {.learn_kernel = c.learn_kernel});
  ThreadPool pool(num_threads);
  TrainingStep step(network, losses_of_step, pool, c.chunk_logits);
  AdamW adamw(network.layout(), {});
  ParameterBlock weights = network.initial_weights(5);
  ParameterBlock gradients(network.layout());
  for (std::uint64_t s = 0; s < 5; ++s) {
    const Batch batch = random_batch(lengths_of(s), kVocab, c.num_features, s);
    const Losses result = step.run(batch, weights, {.rate = 0.2, .seed = seed, .step = s}, gradients);
    if (losses) losses->push_back(result.total);
    adamw.step(learning_rate(1e-2, s + 1, 2, 10), AdamW::norm(gradients, pool), gradients, weights, pool);
  }
  return weights;
}

bool same_bytes(const ParameterBlock& a, const ParameterBlock& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class Determinism : public testing::TestWithParam<TrainingCase> {};

TEST_P(Determinism, WeightsDoNotDependOnTheThreads) {
  std::vector<double> expected_losses;
  const ParameterBlock expected = weights_after_steps(GetParam(), 1, 9, &expected_losses);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(std::isfinite(expected.data()[i]));
  for (const std::size_t threads : {1, 2, 3, 4, 7}) {
    std::vector<double> losses;
    EXPECT_TRUE(same_bytes(weights_after_steps(GetParam(), threads, 9, &losses), expected)) << threads << " threads";
    EXPECT_EQ(losses, expected_losses) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Determinism,
                         testing::Values(TrainingCase{22, AttentionMask::bidirectional, TrainingStep::kChunkLogits},
                                         TrainingCase{0, AttentionMask::causal, TrainingStep::kChunkLogits},
                                         TrainingCase{22, AttentionMask::causal, 200 * kVocab},
                                         TrainingCase{22, AttentionMask::causal, TrainingStep::kChunkLogits, true},
                                         TrainingCase{22, AttentionMask::causal, 200 * kVocab, true},
                                         TrainingCase{22, AttentionMask::causal, 200 * kVocab, true, true},
                                         TrainingCase{.num_features = 22,
                                                      .attention = AttentionMask::causal,
                                                      .chunk_logits = 200 * kVocab,
                                                      .norm = NormPlace::pre}));

TEST(DropoutSeed, AnotherSeedGivesOtherDropout) {
  const TrainingCase c{0, AttentionMask::causal, TrainingStep::kChunkLogits};
  EXPECT_FALSE(same_bytes(weights_after_steps(c, 1, 9), weights_after_steps(c, 1, 10)));
}

}  // namespace
}  // namespace semfuse
