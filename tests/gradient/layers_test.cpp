// Each layer by itself against its box of the plain twin: output, and the gradients of its input and of its parameters.
#include <gtest/gtest.h>

#include "model/encoder_layer.h"
#include "model/feature_head.h"
#include "model/fused_embedding.h"
#include "model/pre_norm_layer.h"
#include "support/layer_case.h"

namespace semfuse {
namespace {

using ComplexTables = reference::Tables<std::complex<double>>;

constexpr std::size_t kWidth = 12;
constexpr std::size_t kHeads = 3;
constexpr std::size_t kInner = 7;

TEST(LinearGradient, EqualsTheTwin) {
  LayerCase c;
  const Linear linear = c.linears().add("map", kWidth, 5, kWidth);
  c.prepare();
  const Matrix x = c.random_rows(kWidth, 1);
  const Matrix y = c.random_rows(5, 2);
  const Matrix d_y = c.random_rows(5, 3);
  const Matrix d_x = c.copy(x);
  c.for_each_shard([&](const Shard& shard) {
    c.pass().packed.forward(linear, shard.rows_of(x), shard.rows_of(y));
    c.pass().packed.backward(linear, shard.rows_of(d_y), shard.rows_of(d_x), true);
  });
  c.tasks().add(linear, d_y, x);

  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  expect_output(y, reference::linear(at["x"], at["map.weight"], at["map.bias"]));
  const auto objective = [&](const ComplexTables& w) {
    // The gradient of x was added to x itself: that of Σ x² / 2.
    std::complex<double> sum = weighted_sum(reference::linear(w.at("x"), w.at("map.weight"), w.at("map.bias")), d_y);
    for (const auto& number : w.at("x").numbers) sum += number * number / 2.0;
    return sum;
  };
  expect_close(c.gradients(d_x), complex_step(at, objective));
}

TEST(LinearGradient, GivesTheFirstInputsOnlyAndAccumulates) {
  LayerCase c;
  const Linear linear = c.linears().add("map", kWidth, 5, 4);
  c.prepare();
  const Matrix x = c.random_rows(kWidth, 1);
  const Matrix d_y = c.random_rows(5, 3);
  const Matrix d_x = c.random_rows(4, 4);
  c.for_each_shard(
      [&](const Shard& shard) { c.pass().packed.backward(linear, shard.rows_of(d_y), shard.rows_of(d_x), false); });
  c.tasks().add(linear, d_y, x);
  c.gradients(d_x);
  GradientTasks again(c.layout(), c.gradient_block(), /*accumulate=*/true);
  again.add(linear, d_y, x);
  again.run(c.pool());
  const reference::Tables<double> engine = c.tables(d_x);

  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  reference::Tables<double> twin = complex_step(at, [&](const ComplexTables& w) {
    return weighted_sum(reference::linear(w.at("x"), w.at("map.weight"), w.at("map.bias")), d_y);
  });
  reference::Table<double> first(x.rows(), 4);
  for (std::size_t i = 0; i < x.rows(); ++i) {
    for (std::size_t j = 0; j < 4; ++j) first(i, j) = twin["x"](i, j);
  }
  twin["x"] = first;
  for (const char* name : {"map.weight", "map.bias"}) {
    for (double& number : twin[name].numbers) number *= 2.0;
  }
  expect_close(engine, twin);
}

TEST(ResidualNormGradient, EqualsTheTwin) {
  LayerCase c;
  const ResidualNorm norm(c.layout(), "norm1", kWidth, 2, DropoutPlan::Site::feed_forward_output);
  c.prepare();
  ResidualNorm::Cache cache = norm.allocate(c.batch(), c.workspace());
  const Matrix residual = c.random_rows(kWidth, 1);
  const Matrix branch = c.random_rows(kWidth, 2);
  const Matrix d_y = c.random_rows(kWidth, 3);
  for (std::size_t i = 0; i < branch.rows(); ++i) std::copy_n(branch.row(i), kWidth, cache.branch.row(i));
  const Matrix d_residual = c.copy(d_y);
  c.for_each_shard([&](const Shard& shard) { norm.forward(c.pass(), shard, shard.rows_of(residual), cache); });

  const DropoutMask mask = c.plan().mask(2, DropoutPlan::Site::feed_forward_output);
  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(residual);
  at["branch"] = reference::table_of(branch);
  expect_output(cache.y, reference::residual_norm(at, "norm1", at["x"], at["branch"], mask));

  c.for_each_shard([&](const Shard& shard) { norm.backward(c.pass(), shard, shard.rows_of(d_residual), cache); });
  norm.gradients(cache, c.tasks());
  reference::Tables<double> engine = c.gradients(d_residual);
  engine["branch"] = reference::table_of(cache.branch);
  expect_close(engine, complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::residual_norm(w, "norm1", w.at("x"), w.at("branch"), mask), d_y);
               }));
}

TEST(LayerNormGradient, EqualsTheTwinAddedOrNot) {
  for (const bool accumulate : {false, true}) {
    LayerCase c;
    const LayerNorm norm(c.layout(), "norm", kWidth);
    c.prepare();
    LayerNorm::Cache cache = norm.allocate(c.batch(), c.workspace());
    const Matrix x = c.random_rows(kWidth, 1);
    const Matrix d_y = c.random_rows(kWidth, 3);
    const Matrix d_x = c.copy(d_y);
    c.for_each_shard([&](const Shard& shard) { norm.forward(c.pass(), shard, shard.rows_of(x), cache); });
    reference::Tables<double> at = c.weights();
    at["x"] = reference::table_of(x);
    expect_output(cache.y, reference::layer_norm(at["x"], at["norm.weight"], at["norm.bias"]));

    c.for_each_shard([&](const Shard& shard) {
      norm.backward(c.pass(), shard, shard.rows_of(accumulate ? d_y : d_x), cache, accumulate, shard.rows_of(d_x));
    });
    norm.gradients(cache, c.tasks());
    expect_close(c.gradients(d_x), complex_step(at, [&](const ComplexTables& w) {
                   const auto y = reference::layer_norm(w.at("x"), w.at("norm.weight"), w.at("norm.bias"));
                   return weighted_sum(y, d_y) + (accumulate ? weighted_sum(w.at("x"), d_y) : 0.0);
                 }));
  }
}

class SelfAttentionGradient : public testing::TestWithParam<ModelOptions> {};

TEST_P(SelfAttentionGradient, EqualsTheTwin) {
  LayerCase c;
  const SelfAttention attention(c.layout(), c.linears(), "attn", GetParam(), 1);
  c.prepare(GetParam().attention);
  SelfAttention::Cache cache = attention.allocate(c.batch(), c.workspace());
  const Matrix x = c.random_rows(kWidth, 1);
  const Matrix y = c.random_rows(kWidth, 2);
  const Matrix d_y = c.random_rows(kWidth, 3);
  const Matrix d_context = c.random_rows(kWidth, 4);
  const Matrix d_x = c.copy(d_y);  // Added to: the residual's gradient is in it already.
  float* scratch = c.workspace().floats(attention.scratch_size(c.batch()));
  c.for_each_shard([&](const Shard& shard) {
    attention.forward(c.pass(), shard, shard.rows_of(x), cache, shard.rows_of(y), scratch);
  });
  c.for_each_shard([&](const Shard& shard) {
    attention.backward(c.pass(), shard, cache, shard.rows_of(d_y), shard.rows_of(d_context), shard.rows_of(d_x),
                       scratch);
  });
  attention.gradients(cache, x, d_y, c.tasks());

  const DropoutMask mask = c.plan().mask(1, DropoutPlan::Site::attention_weights);
  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  expect_output(y, reference::self_attention(at, "attn", at["x"], c.batch(), GetParam(), mask));
  expect_close(c.gradients(d_x), complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::self_attention(w, "attn", w.at("x"), c.batch(), GetParam(), mask),
                                     d_y) +
                        weighted_sum(w.at("x"), d_y);
               }));
}

ModelOptions attention_options(AttentionMask attention, bool distance_bias) {
  ModelOptions options;
  options.width = kWidth;
  options.heads = kHeads;
  options.attention = attention;
  options.distance_bias = distance_bias;
  return options;
}

INSTANTIATE_TEST_SUITE_P(Masks, SelfAttentionGradient,
                         testing::Values(attention_options(AttentionMask::causal, false),
                                         attention_options(AttentionMask::causal, true),
                                         attention_options(AttentionMask::bidirectional, false)),
                         [](const auto& test) {
                           return std::string(to_string(test.param.attention)) +
                                  (test.param.distance_bias ? "_distance_bias" : "");
                         });

TEST(FeedForwardGradient, EqualsTheTwin) {
  LayerCase c;
  const FeedForward feed_forward(c.linears(), "ff", kWidth, kInner, 3);
  c.prepare();
  FeedForward::Cache cache = feed_forward.allocate(c.batch(), c.workspace());
  const Matrix x = c.random_rows(kWidth, 1);
  const Matrix y = c.random_rows(kWidth, 2);
  const Matrix d_y = c.random_rows(kWidth, 3);
  const Matrix d_x = c.copy(d_y);
  c.for_each_shard([&](const Shard& shard) {
    feed_forward.forward(c.pass(), shard, shard.rows_of(x), cache, shard.rows_of(y));
    feed_forward.backward(c.pass(), shard, cache, shard.rows_of(d_y), shard.rows_of(d_x));
  });
  feed_forward.gradients(cache, x, d_y, c.tasks());

  const DropoutMask mask = c.plan().mask(3, DropoutPlan::Site::feed_forward_inner);
  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  expect_output(y, reference::feed_forward(at, "ff", at["x"], mask));
  expect_close(c.gradients(d_x), complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::feed_forward(w, "ff", w.at("x"), mask), d_y) +
                        weighted_sum(w.at("x"), d_y);
               }));
}

TEST(EncoderLayerGradient, EqualsTheTwin) {
  LayerCase c;
  const ModelOptions options{
      .width = kWidth, .heads = kHeads, .feed_forward = kInner, .attention = AttentionMask::causal};
  const EncoderLayer layer(c.layout(), c.linears(), options, 1);
  c.prepare(options.attention);
  const Matrix x = c.random_rows(kWidth, 1);
  EncoderLayer::Cache cache = layer.allocate(c.batch(), x, c.workspace());
  const Matrix d_y = c.random_rows(kWidth, 3);
  const Matrix d_context = c.random_rows(kWidth, 4);
  const Matrix d_x = c.copy(d_y);
  float* scratch = c.workspace().floats(layer.scratch_size(c.batch()));
  c.for_each_shard([&](const Shard& shard) { layer.forward(c.pass(), shard, cache, scratch); });

  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  expect_output(cache.output(), reference::encoder_layer(at, 1, at["x"], c.batch(), options, c.plan()));

  c.for_each_shard([&](const Shard& shard) {
    layer.backward(c.pass(), shard, cache, shard.rows_of(d_x), shard.rows_of(d_context), scratch);
  });
  layer.gradients(cache, c.tasks());
  expect_close(c.gradients(d_x), complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::encoder_layer(w, 1, w.at("x"), c.batch(), options, c.plan()), d_y);
               }));
}

TEST(PreNormLayerGradient, EqualsTheTwin) {
  LayerCase c;
  const ModelOptions options{
      .width = kWidth, .heads = kHeads, .feed_forward = kInner, .attention = AttentionMask::causal};
  const PreNormLayer layer(c.layout(), c.linears(), options, 1);
  c.prepare(options.attention);
  const Matrix x = c.random_rows(kWidth, 1);
  PreNormLayer::Cache cache = layer.allocate(c.batch(), x, c.workspace());
  const Matrix d_y = c.random_rows(kWidth, 3);
  const Matrix d_context = c.random_rows(kWidth, 4);
  const Matrix d_x = c.copy(d_y);
  float* scratch = c.workspace().floats(layer.scratch_size(c.batch()));
  c.for_each_shard([&](const Shard& shard) { layer.forward(c.pass(), shard, cache, scratch); });

  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(x);
  expect_output(cache.output(), reference::pre_norm_layer(at, 1, at["x"], c.batch(), options, c.plan()));

  c.for_each_shard([&](const Shard& shard) {
    layer.backward(c.pass(), shard, cache, shard.rows_of(d_x), shard.rows_of(d_context), scratch);
  });
  layer.gradients(cache, c.tasks());
  expect_close(c.gradients(d_x), complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::pre_norm_layer(w, 1, w.at("x"), c.batch(), options, c.plan()), d_y);
               }));
}

class FusedEmbeddingGradient : public testing::TestWithParam<std::size_t> {};

TEST_P(FusedEmbeddingGradient, EqualsTheTwin) {
  LayerCase c(GetParam());
  const FusedEmbedding embedding(c.layout(), c.linears(), 9, kWidth, GetParam());
  c.prepare();
  FusedEmbedding::Cache cache = embedding.allocate(c.batch(), c.workspace());
  PositionTable positions(kWidth);
  positions.reserve(2);
  positions.reserve(c.batch().longest());  // Grows and keeps what it had.
  const Matrix d_h = c.random_rows(kWidth, 3);
  const Matrix d_e = c.copy(d_h);
  c.for_each_shard([&](const Shard& shard) { embedding.forward(c.pass(), shard, positions.rows(), cache); });
  expect_output(cache.h, reference::fused_embedding(c.weights(), c.batch()));

  c.for_each_shard([&](const Shard& shard) { embedding.backward(c.pass(), shard, cache, shard.rows_of(d_e)); });
  embedding.gradients(cache, c.tasks());
  c.gradients({});
  embedding.scatter_gradient(c.pass(), d_e, c.gradient_block().matrix(c.layout()[embedding.table()]), c.pool());
  expect_close(reference::tables_of(c.layout(), c.gradient_block()),
               complex_step(c.weights(), [&](const ComplexTables& w) {
                 return weighted_sum(reference::fused_embedding(w, c.batch()), d_h);
               }));
}

INSTANTIATE_TEST_SUITE_P(Features, FusedEmbeddingGradient, testing::Values(0, 5));

TEST(FeatureHeadGradient, EqualsTheTwin) {
  LayerCase c(5);
  const FeatureHead head(c.linears(), kWidth, kInner, 5);
  c.prepare();
  FeatureHead::Cache cache = head.allocate(c.batch(), c.workspace());
  const Matrix hidden = c.random_rows(kWidth, 1);
  const Matrix d_y = c.random_rows(5, 3);
  const Matrix d_hidden = c.random_rows(kWidth, 4);
  const Matrix d_before = c.copy(d_hidden);
  c.for_each_shard([&](const Shard& shard) { head.forward(c.pass(), shard, shard.rows_of(hidden), cache); });

  reference::Tables<double> at = c.weights();
  at["x"] = reference::table_of(hidden);
  expect_output(cache.logits, reference::feature_head(at, at["x"]));

  for (std::size_t i = 0; i < d_y.rows(); ++i) std::copy_n(d_y.row(i), 5, cache.logits.row(i));
  c.for_each_shard([&](const Shard& shard) { head.backward(c.pass(), shard, cache, shard.rows_of(d_hidden)); });
  head.gradients(cache, hidden, c.tasks());
  expect_close(c.gradients(d_hidden), complex_step(at, [&](const ComplexTables& w) {
                 return weighted_sum(reference::feature_head(w, w.at("x")), d_y) + weighted_sum(w.at("x"), d_before);
               }));
}

}  // namespace
}  // namespace semfuse
