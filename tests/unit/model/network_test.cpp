#include "model/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/small_language_model.h"

namespace semfuse {
namespace {

std::vector<float> values(const Network& network, const ParameterBlock& weights, const std::string& name) {
  const ParameterInfo* info = network.layout().find(name);
  if (!info) {
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  return {weights.vector(*info), weights.vector(*info) + info->size};
}

const std::vector<std::string> kLayerParameters = {"self_attn.in_proj_weight",
                                                   "self_attn.in_proj_bias",
                                                   "self_attn.out_proj.weight",
                                                   "self_attn.out_proj.bias",
                                                   "linear1.weight",
                                                   "linear1.bias",
                                                   "linear2.weight",
                                                   "linear2.bias",
                                                   "norm1.weight",
                                                   "norm1.bias",
                                                   "norm2.weight",
                                                   "norm2.bias"};

std::string in_layer(std::size_t layer, const std::string& name) {
  return "enc.layers." + std::to_string(layer) + "." + name;
}

// The paper's fusion model: 41 words, 22 features.
class NetworkTest : public testing::Test {
 protected:
  const Network network_{ModelOptions{}, 41, 22};
  const ParameterBlock weights_ = network_.initial_weights(7);

  void expect_uniform(const std::string& name, double bound) const {
    const std::vector<float> numbers = values(network_, weights_, name);
    ASSERT_FALSE(numbers.empty());
    double largest = 0.0, sum = 0.0, squares = 0.0;
    for (const float number : numbers) {
      const auto x = static_cast<double>(number);
      largest = std::max(largest, std::abs(x));
      sum += x;
      squares += x * x;
    }
    const auto n = static_cast<double>(numbers.size());
    EXPECT_LE(largest, bound * (1.0 + 1e-6)) << name;
    EXPECT_GT(largest, bound * (1.0 - 8.0 / n)) << name;
    EXPECT_NEAR(sum / n, 0.0, 4.5 * bound / std::sqrt(3.0 * n)) << name;
    // x² has mean b²/3 and variance 4b⁴/45.
    EXPECT_NEAR(squares / n, bound * bound / 3.0, 4.5 * bound * bound * std::sqrt(4.0 / 45.0 / n)) << name;
  }
  void expect_all(const std::string& name, float expected) const {
    for (const float number : values(network_, weights_, name)) ASSERT_EQ(number, expected) << name;
  }
};

TEST_F(NetworkTest, HasTheParametersOfThePyTorchModule) {
  std::map<std::string, std::vector<std::size_t>> expected = {
      {"tok.weight", {41, 128}}, {"sem_proj.weight", {128, 22}},
      {"sem_proj.bias", {128}},  {"gate.weight", {128, 150}},
      {"gate.bias", {128}},      {"aux_head.0.weight", {64, 128}},
      {"aux_head.0.bias", {64}}, {"aux_head.2.weight", {22, 64}},
      {"aux_head.2.bias", {22}}};
  for (std::size_t layer = 0; layer < 4; ++layer) {
    expected[in_layer(layer, "self_attn.in_proj_weight")] = {384, 128};
    expected[in_layer(layer, "self_attn.in_proj_bias")] = {384};
    expected[in_layer(layer, "self_attn.out_proj.weight")] = {128, 128};
    expected[in_layer(layer, "self_attn.out_proj.bias")] = {128};
    expected[in_layer(layer, "linear1.weight")] = {256, 128};
    expected[in_layer(layer, "linear1.bias")] = {256};
    expected[in_layer(layer, "linear2.weight")] = {128, 256};
    expected[in_layer(layer, "linear2.bias")] = {128};
    for (const char* name : {"norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"}) {
      expected[in_layer(layer, name)] = {128};
    }
  }
  std::map<std::string, std::vector<std::size_t>> shapes;
  for (const ParameterInfo& info : network_.layout().entries()) shapes[info.name] = info.shape;
  EXPECT_EQ(shapes, expected);
  EXPECT_EQ(network_.layout().entries().size(), expected.size()) << "a name appears twice";
}

TEST_F(NetworkTest, CountsItsParameters) {
  constexpr std::size_t kLayer =
      (384 * 128 + 384) + (128 * 128 + 128) + (256 * 128 + 256) + (128 * 256 + 128) + 4 * 128;
  constexpr std::size_t kFusion = (128 * 22 + 128) + (128 * 150 + 128) + (64 * 128 + 64) + (22 * 64 + 22);
  static_assert(kLayer == 132480);  // As torch.nn.TransformerEncoderLayer(128, 4, 256) has.
  EXPECT_EQ(network_.layout().parameter_count(), 41 * 128 + 4 * kLayer + kFusion);
  ModelOptions baseline;
  baseline.fusion = false;
  EXPECT_EQ(Network(baseline, 41, 0).layout().parameter_count(), 41 * 128 + 4 * kLayer);
  EXPECT_EQ(synthetic_model({}).parameter_count(), 41 * 128 + 4 * kLayer + kFusion);
  EXPECT_EQ(synthetic_model(baseline).parameter_count(), 41 * 128 + 4 * kLayer);
}

TEST_F(NetworkTest, LayersBeginAsCopiesOfTheFirst) {
  for (const std::string& name : kLayerParameters) {
    const std::vector<float> first = values(network_, weights_, in_layer(0, name));
    for (std::size_t layer = 1; layer < 4; ++layer) {
      EXPECT_EQ(values(network_, weights_, in_layer(layer, name)), first) << name << " of layer " << layer;
    }
  }
}

// The number of a layer may have more than one digit.
TEST(Network, TheEleventhLayerIsACopyToo) {
  const Network network({.width = 8, .layers = 12, .heads = 2, .feed_forward = 6, .fusion = false}, 5, 0);
  const ParameterBlock weights = network.initial_weights(1);
  for (const std::string& name : kLayerParameters) {
    EXPECT_EQ(values(network, weights, in_layer(11, name)), values(network, weights, in_layer(0, name))) << name;
  }
}

TEST(Network, PreNormLayersBeginDifferentlyAndEndInANorm) {
  ModelOptions options{.width = 8, .layers = 2, .heads = 2, .feed_forward = 6, .fusion = false};
  const std::size_t post = Network(options, 5, 0).layout().parameter_count();
  options.norm = NormPlace::pre;
  const Network network(options, 5, 0);
  EXPECT_EQ(network.layout().parameter_count(), post + 2 * 8);
  const ParameterBlock weights = network.initial_weights(1);
  EXPECT_NE(values(network, weights, in_layer(0, "linear1.weight")),
            values(network, weights, in_layer(1, "linear1.weight")));
  EXPECT_EQ(values(network, weights, "enc.norm.weight"), std::vector<float>(8, 1.0f));
  EXPECT_EQ(values(network, weights, "enc.norm.bias"), std::vector<float>(8, 0.0f));
}

TEST(Network, AScaledEmbeddingBeginsSmallerByTheRootOfTheWidth) {
  ModelOptions options{.width = 16, .layers = 1, .heads = 2, .feed_forward = 6};
  const Network plain(options, 5, 3);
  options.scaled_embedding = true;
  const Network scaled(options, 5, 3);
  for (const char* name : {"tok.weight", "sem_proj.weight", "sem_proj.bias"}) {
    std::vector<float> expected = values(plain, plain.initial_weights(1), name);
    for (float& number : expected) number *= 0.25f;
    EXPECT_EQ(values(scaled, scaled.initial_weights(1), name), expected) << name;
  }
  EXPECT_EQ(values(scaled, scaled.initial_weights(1), "gate.weight"),
            values(plain, plain.initial_weights(1), "gate.weight"));
}

TEST_F(NetworkTest, DrawsEachKindAsPyTorchDoes) {
  const auto fan_in = [](double inputs) { return 1.0 / std::sqrt(inputs); };
  expect_uniform("sem_proj.weight", fan_in(22));
  expect_uniform("sem_proj.bias", fan_in(22));
  expect_uniform("gate.weight", fan_in(150));
  expect_uniform("gate.bias", fan_in(150));
  expect_uniform("aux_head.0.weight", fan_in(128));
  expect_uniform("aux_head.0.bias", fan_in(128));
  expect_uniform("aux_head.2.weight", fan_in(64));
  expect_uniform("enc.layers.0.self_attn.in_proj_weight", std::sqrt(6.0 / (4.0 * 128.0)));
  expect_uniform("enc.layers.0.self_attn.out_proj.weight", fan_in(128));
  expect_uniform("enc.layers.0.linear1.weight", fan_in(128));
  expect_uniform("enc.layers.0.linear1.bias", fan_in(128));
  expect_uniform("enc.layers.0.linear2.weight", fan_in(256));
  expect_uniform("enc.layers.0.linear2.bias", fan_in(256));
  expect_all("enc.layers.0.self_attn.in_proj_bias", 0.0f);
  expect_all("enc.layers.0.self_attn.out_proj.bias", 0.0f);
  expect_all("enc.layers.0.norm1.weight", 1.0f);
  expect_all("enc.layers.0.norm1.bias", 0.0f);
  expect_all("enc.layers.0.norm2.weight", 1.0f);
  expect_all("enc.layers.0.norm2.bias", 0.0f);
  // So few numbers that their spread says little.
  for (const float number : values(network_, weights_, "aux_head.2.bias")) {
    EXPECT_LE(std::abs(number), 0.125f);
    EXPECT_NE(number, 0.0f);
  }
}

TEST_F(NetworkTest, DrawsEmbeddingsFromTheNormalDistribution) {
  const std::vector<float> numbers = values(network_, weights_, "tok.weight");
  const auto n = static_cast<double>(numbers.size());
  double sum = 0.0, squares = 0.0, beyond_one = 0.0, beyond_two = 0.0;
  for (const float number : numbers) {
    const auto x = static_cast<double>(number);
    sum += x / n;
    squares += x * x / n;
    beyond_one += (std::abs(x) > 1.0 ? 1.0 : 0.0) / n;
    beyond_two += (std::abs(x) > 2.0 ? 1.0 : 0.0) / n;
  }
  EXPECT_NEAR(sum, 0.0, 4.5 / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares), 1.0, 4.5 / std::sqrt(2.0 * n));
  EXPECT_NEAR(beyond_one, 0.3173, 0.03);
  EXPECT_NEAR(beyond_two, 0.0455, 0.013);
}

TEST_F(NetworkTest, NoTwoParametersShareTheirNumbers) {
  const std::vector<std::string> drawn = {"sem_proj.weight",
                                          "sem_proj.bias",
                                          "gate.weight",
                                          "gate.bias",
                                          "aux_head.0.weight",
                                          "aux_head.0.bias",
                                          "aux_head.2.weight",
                                          "aux_head.2.bias",
                                          "enc.layers.0.self_attn.in_proj_weight",
                                          "enc.layers.0.self_attn.out_proj.weight",
                                          "enc.layers.0.linear1.weight",
                                          "enc.layers.0.linear1.bias",
                                          "enc.layers.0.linear2.weight",
                                          "enc.layers.0.linear2.bias"};
  // The same draws with other bounds would have the same quotients.
  std::vector<float> quotients;
  for (const std::string& name : drawn) {
    const std::vector<float> numbers = values(network_, weights_, name);
    quotients.push_back(numbers[1] / numbers[0]);
    for (std::size_t i = 0; i + 1 < quotients.size(); ++i) {
      EXPECT_GT(std::abs(quotients[i] / quotients.back() - 1.0f), 1e-4f) << drawn[i] << " and " << name;
    }
  }
}

TEST_F(NetworkTest, TheSeedDecides) {
  const ParameterBlock same = network_.initial_weights(7);
  const ParameterBlock other = network_.initial_weights(8);
  for (const ParameterInfo& info : network_.layout().entries()) {
    const std::vector<float> expected = values(network_, weights_, info.name);
    EXPECT_EQ(values(network_, same, info.name), expected) << info.name;
    const bool drawn = !info.name.ends_with("in_proj_bias") && !info.name.ends_with("out_proj.bias") &&
                       info.name.find(".norm") == std::string::npos;
    EXPECT_EQ(values(network_, other, info.name) != expected, drawn) << info.name;
  }
}

// 2mnk for each product of a hand-counted model, three times for forward and backward.
TEST(Network, CountsItsOperations) {
  const Network network({.width = 4, .layers = 2, .heads = 2, .feed_forward = 6, .fusion = false}, 5, 0);
  const Batch batch = random_batch({3, 2}, 5, 0, 1);
  const double layer = 2.0 * 5 * (4 * 12 + 4 * 4 + 4 * 6 + 6 * 4) + 2.0 * 2.0 * 4 * (3 * 3 + 2 * 2);
  EXPECT_EQ(network.training_flops(batch), 3.0 * (2.0 * layer + 2.0 * 5 * 4 * 5));
  // A causal token reads itself and what is before it.
  ModelOptions causal = network.options();
  causal.attention = AttentionMask::causal;
  const double skipped = 2.0 * 2.0 * 4 * (3 + 1);
  EXPECT_EQ(Network(causal, 5, 0).training_flops(batch), 3.0 * (2.0 * (layer - skipped) + 2.0 * 5 * 4 * 5));
}

}  // namespace
}  // namespace semfuse
