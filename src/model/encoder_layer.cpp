#include "model/encoder_layer.h"

namespace semfuse {

EncoderLayer::EncoderLayer(ParameterLayout& layout, LinearList& linears, const ModelOptions& options, std::size_t layer)
    : attention_(layout, linears, layer_name(layer) + ".self_attn", options, layer),
      feed_forward_(linears, layer_name(layer), options.width, options.feed_forward, layer),
      norm1_(layout, layer_name(layer) + ".norm1", options.width, layer, DropoutPlan::Site::attention_output),
      norm2_(layout, layer_name(layer) + ".norm2", options.width, layer, DropoutPlan::Site::feed_forward_output) {}

void EncoderLayer::initialise(InitialWeights& weights) const {
  attention_.initialise(weights);
  feed_forward_.initialise(weights);
  norm1_.initialise(weights);
  norm2_.initialise(weights);
}

EncoderLayer::Cache EncoderLayer::allocate(const Batch& batch, Matrix input, Workspace& workspace) const {
  return {.input = input,
          .attention = attention_.allocate(batch, workspace),
          .norm1 = norm1_.allocate(batch, workspace),
          .feed_forward = feed_forward_.allocate(batch, workspace),
          .norm2 = norm2_.allocate(batch, workspace)};
}

void EncoderLayer::forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const {
  const Matrix x = shard.rows_of(cache.input);
  const Matrix middle = shard.rows_of(cache.norm1.y);
  attention_.forward(pass, shard, x, cache.attention, shard.rows_of(cache.norm1.branch), scratch);
  norm1_.forward(pass, shard, x, cache.norm1);
  feed_forward_.forward(pass, shard, middle, cache.feed_forward, shard.rows_of(cache.norm2.branch));
  norm2_.forward(pass, shard, middle, cache.norm2);
}

void EncoderLayer::backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, Matrix d_context,
                            float* scratch) const {
  norm2_.backward(pass, shard, d_x, cache.norm2);
  feed_forward_.backward(pass, shard, cache.feed_forward, shard.rows_of(cache.norm2.branch), d_x);
  norm1_.backward(pass, shard, d_x, cache.norm1);
  attention_.backward(pass, shard, cache.attention, shard.rows_of(cache.norm1.branch), d_context, d_x, scratch);
}

void EncoderLayer::gradients(const Cache& cache, GradientTasks& tasks) const {
  attention_.gradients(cache.attention, cache.input, cache.norm1.branch, tasks);
  norm1_.gradients(cache.norm1, tasks);
  feed_forward_.gradients(cache.feed_forward, cache.norm1.y, cache.norm2.branch, tasks);
  norm2_.gradients(cache.norm2, tasks);
}

}  // namespace semfuse
