// Sentences packed end to end give what they give one by one: no padding, and nothing leaks from one into another.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "support/gradient_check.h"
#include "support/small_model.h"
#include "training/training_step.h"

namespace semfuse {
namespace {

// Sizes of one random model and batch.
struct RandomCase {
  ModelOptions model;
  std::size_t vocab_size = 0;
  std::size_t num_features = 0;
  std::vector<std::size_t> lengths;
};

RandomCase random_case(std::uint64_t seed) {
  RandomStream random(seed, RandomPurpose::held_out);
  const auto between = [&](std::size_t low, std::size_t high) { return low + random.next_below(high - low + 1); };
  RandomCase c;
  c.model.heads = between(1, 4);
  c.model.width = c.model.heads * between(4, 9);
  c.model.width += c.model.width % 2 * c.model.heads;  // Even, and still a multiple of the heads.
  c.model.layers = between(1, 3);
  c.model.feed_forward = between(1, 40);
  c.model.feature_head = between(1, 20);
  c.model.attention = between(0, 1) ? AttentionMask::causal : AttentionMask::bidirectional;
  c.model.norm = seed % 2 == 0 ? NormPlace::post : NormPlace::pre;
  c.model.scaled_embedding = seed % 3 == 0;
  c.model.distance_bias = c.model.attention == AttentionMask::causal && seed % 5 < 2;
  c.vocab_size = between(2, 50);
  c.num_features = between(0, 1) ? between(1, 22) : 0;
  c.lengths.resize(between(1, 8));
  // One batch in four is long enough for several shards.
  for (std::size_t& length : c.lengths) length = seed % 4 == 0 ? between(1, 90) : between(1, 20);
  return c;
}

Batch single_sentence(const Batch& batch, std::size_t s) {
  BatchPacker packer(batch.num_features);
  const std::size_t first = batch.first_token[s];
  const std::size_t length = batch.length(s);
  packer.add(std::span(batch.inputs).subspan(first, length), std::span(batch.targets).subspan(first, length),
             std::span(batch.features).subspan(first * batch.num_features, length * batch.num_features));
  return packer.take();
}

struct StepResult {
  Losses losses;
  reference::Tables<double> gradients;
  std::vector<float> logits;
  std::vector<float> feature_logits;
};

void copy_rows(ConstMatrix rows, std::size_t first, std::vector<float>& target) {
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    std::copy_n(rows.row(i), rows.cols(), target.begin() + static_cast<std::ptrdiff_t>((first + i) * rows.cols()));
  }
}

StepResult run(TrainingStep& step, const Network& network, const Batch& batch, const ParameterBlock& weights) {
  StepResult result;
  result.logits.resize(batch.num_tokens() * network.vocab_size());
  result.feature_logits.resize(batch.num_tokens() * network.num_features());
  step.on_logits = [&](std::size_t first_token, ConstMatrix logits, ConstMatrix feature_logits) {
    copy_rows(logits, first_token, result.logits);
    copy_rows(feature_logits, first_token, result.feature_logits);
  };
  ParameterBlock gradients(network.layout());
  result.losses = step.run(batch, weights, {}, gradients);
  result.gradients = reference::tables_of(network.layout(), gradients);
  return result;
}

bool same_bits(const std::vector<float>& part, const std::vector<float>& whole, std::size_t first) {
  return std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

double largest_of(const reference::Table<double>& table) {
  double largest = 0.0;
  for (const double x : table.numbers) largest = std::max(largest, std::abs(x));
  return largest;
}

// The rounding of a table's gradient is measured by its largest number, and by that of all tables where its own numbers
// cancel.
void expect_same_gradients(const reference::Tables<double>& mean, const reference::Tables<double>& packed) {
  double largest = 0.0;
  for (const auto& [name, table] : packed) largest = std::max(largest, largest_of(table));
  for (const auto& [name, table] : packed) {
    double worst = 0.0;
    for (std::size_t n = 0; n < table.numbers.size(); ++n) {
      worst = std::max(worst, std::abs(table.numbers[n] - mean.at(name).numbers[n]));
    }
    EXPECT_LE(worst, 1e-5 * largest_of(table) + 1e-6 * largest) << name;
  }
}

TEST(PackedBatch, GivesWhatItsSentencesGiveOneByOne) {
  ThreadPool pool(2);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    const RandomCase c = random_case(seed);
    const Network network(c.model, c.vocab_size, c.num_features);
    const ParameterBlock weights = random_weights(network.layout(), seed);
    // The uniformity of a class is a mean over the batch's class words, not over sentences; the twin covers it.
    TrainingStep step(network, {.label_smoothing = 0.05, .feature_loss = 0.5}, pool);
    const Batch batch = random_batch(c.lengths, c.vocab_size, c.num_features, seed);
    const StepResult packed = run(step, network, batch, weights);

    double tokens = 0.0;
    double features = 0.0;
    reference::Tables<double> mean;
    for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
      const StepResult single = run(step, network, single_sentence(batch, s), weights);
      const double share = static_cast<double>(batch.length(s)) / static_cast<double>(batch.num_tokens());
      tokens += share * single.losses.tokens;
      features += share * single.losses.features;
      for (const auto& [name, table] : single.gradients) {
        reference::Table<double>& sum = mean.try_emplace(name, table.rows, table.cols).first->second;
        for (std::size_t n = 0; n < table.numbers.size(); ++n) sum.numbers[n] += share * table.numbers[n];
      }
      EXPECT_TRUE(same_bits(single.logits, packed.logits, batch.first_token[s] * c.vocab_size)) << "sentence " << s;
      EXPECT_TRUE(same_bits(single.feature_logits, packed.feature_logits, batch.first_token[s] * c.num_features));
    }
    EXPECT_NEAR(packed.losses.tokens, tokens, 1e-6 * tokens);
    EXPECT_NEAR(packed.losses.features, features, 1e-6 * features);
    expect_same_gradients(mean, packed.gradients);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace semfuse
