#include "model/encoder.h"

#include <algorithm>
#include <type_traits>

namespace semfuse {

namespace {

// Calls visit(layer, cache) with a layer and its own kind of cache.
template <class Layer, class Cache, class Visit>
void with_cache(const Layer& any, Cache& any_cache, const Visit& visit) {
  std::visit(
      [&](const auto& layer) {
        using Own = typename std::remove_cvref_t<decltype(layer)>::Cache;
        visit(layer, std::get<Own>(any_cache));
      },
      any);
}

}  // namespace

Encoder::Encoder(ParameterLayout& layout, LinearList& linears, const ModelOptions& options) : width_(options.width) {
  for (std::size_t layer = 0; layer < options.layers; ++layer) {
    if (options.norm == NormPlace::post) {
      layers_.emplace_back(std::in_place_type<EncoderLayer>, layout, linears, options, layer);
    } else {
      layers_.emplace_back(std::in_place_type<PreNormLayer>, layout, linears, options, layer);
    }
  }
  if (options.norm == NormPlace::pre) last_norm_.emplace(layout, "enc.norm", options.width);
}

void Encoder::initialise(InitialWeights& weights) const {
  for (const auto& any : layers_) std::visit([&](const auto& layer) { layer.initialise(weights); }, any);
  if (last_norm_) last_norm_->initialise(weights);
}

Encoder::Cache Encoder::allocate(const Batch& batch, Matrix input, Workspace& workspace) const {
  Cache cache;
  for (const auto& any : layers_) {
    std::visit(
        [&](const auto& layer) {
          const auto own = layer.allocate(batch, input, workspace);
          input = own.output();
          cache.layers.emplace_back(own);
        },
        any);
  }
  cache.last_sum = input;
  if (last_norm_) cache.last_norm = last_norm_->allocate(batch, workspace);
  cache.output = last_norm_ ? cache.last_norm->y : cache.last_sum;
  return cache;
}

std::size_t Encoder::scratch_size(const Batch& batch) const {
  std::size_t largest_shard = 0;
  for (const Shard& shard : batch.shards) largest_shard = std::max(largest_shard, shard.num_tokens);
  std::size_t size = 0;
  for (const auto& any : layers_) {
    size = std::max(size, std::visit([&](const auto& layer) { return layer.scratch_size(batch); }, any));
  }
  return size + whole_lines(largest_shard * width_);
}

void Encoder::forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    with_cache(layers_[i], cache.layers[i],
               [&](const auto& layer, auto& own) { layer.forward(pass, shard, own, scratch); });
  }
  if (last_norm_) last_norm_->forward(pass, shard, shard.rows_of(cache.last_sum), *cache.last_norm);
}

void Encoder::backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, float* scratch) const {
  const Matrix d_context(scratch, shard.num_tokens, width_);
  float* rest = scratch + whole_lines(shard.num_tokens * width_);
  if (last_norm_) last_norm_->backward(pass, shard, d_x, *cache.last_norm, /*accumulate=*/false, d_x);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    with_cache(layers_[i], cache.layers[i],
               [&](const auto& layer, auto& own) { layer.backward(pass, shard, own, d_x, d_context, rest); });
  }
}

void Encoder::gradients(const Cache& cache, GradientTasks& tasks) const {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    with_cache(layers_[i], cache.layers[i], [&](const auto& layer, const auto& own) { layer.gradients(own, tasks); });
  }
  if (last_norm_) last_norm_->gradients(*cache.last_norm, tasks);
}

}  // namespace semfuse
