#include "model/pre_norm_layer.h"

#include <algorithm>

#include "kernels/activations.h"

namespace semfuse {

namespace {

// The gradient of a branch whose sum with the residual has the gradient d_sum.
void branch_gradient(const Pass& pass, const Shard& shard, ConstMatrix d_sum, const DropoutMask& dropout,
                     Matrix d_branch) {
  for (std::size_t t = 0; t < d_sum.rows(); ++t) std::copy_n(d_sum.row(t), d_sum.cols(), d_branch.row(t));
  dropout_forward(d_branch, dropout, pass.dropout_row(shard));
}

void fill_with_zeros(Matrix rows) {
  std::fill_n(rows.data(), rows.rows() * rows.cols(), 0.0f);
}

}  // namespace

PreNormLayer::PreNormLayer(ParameterLayout& layout, LinearList& linears, const ModelOptions& options, std::size_t layer)
    : width_(options.width),
      layer_(layer),
      norm1_(layout, layer_name(layer) + ".norm1", options.width),
      attention_(layout, linears, layer_name(layer) + ".self_attn", options, layer),
      norm2_(layout, layer_name(layer) + ".norm2", options.width),
      feed_forward_(linears, layer_name(layer), options.width, options.feed_forward, layer) {}

void PreNormLayer::initialise(InitialWeights& weights) const {
  norm1_.initialise(weights);
  attention_.initialise(weights);
  norm2_.initialise(weights);
  feed_forward_.initialise(weights);
}

PreNormLayer::Cache PreNormLayer::allocate(const Batch& batch, Matrix input, Workspace& workspace) const {
  return {.input = input,
          .norm1 = norm1_.allocate(batch, workspace),
          .attention = attention_.allocate(batch, workspace),
          .middle = workspace.matrix(batch.num_tokens(), width_),
          .norm2 = norm2_.allocate(batch, workspace),
          .feed_forward = feed_forward_.allocate(batch, workspace),
          .sum = workspace.matrix(batch.num_tokens(), width_)};
}

std::size_t PreNormLayer::scratch_size(const Batch& batch) const {
  std::size_t largest_shard = 0;
  for (const Shard& shard : batch.shards) largest_shard = std::max(largest_shard, shard.num_tokens);
  return whole_lines(largest_shard * width_) + attention_.scratch_size(batch);
}

void PreNormLayer::forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const {
  using Site = DropoutPlan::Site;
  const Matrix x = shard.rows_of(cache.input);
  const Matrix middle = shard.rows_of(cache.middle);
  const Matrix sum = shard.rows_of(cache.sum);
  norm1_.forward(pass, shard, x, cache.norm1);
  attention_.forward(pass, shard, shard.rows_of(cache.norm1.y), cache.attention, middle, scratch);
  add_dropped(x, pass.dropout.mask(layer_, Site::attention_output), pass.dropout_row(shard), middle);
  norm2_.forward(pass, shard, middle, cache.norm2);
  feed_forward_.forward(pass, shard, shard.rows_of(cache.norm2.y), cache.feed_forward, sum);
  add_dropped(middle, pass.dropout.mask(layer_, Site::feed_forward_output), pass.dropout_row(shard), sum);
}

void PreNormLayer::backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, Matrix d_context,
                            float* scratch) const {
  using Site = DropoutPlan::Site;
  const Matrix d_fed = shard.rows_of(cache.sum);
  const Matrix d_attended = shard.rows_of(cache.middle);
  const Matrix d_norm(scratch, shard.num_tokens, width_);
  float* rest = scratch + whole_lines(shard.num_tokens * width_);
  // sum = middle + dropout(feed_forward(norm2(middle)))
  branch_gradient(pass, shard, d_x, pass.dropout.mask(layer_, Site::feed_forward_output), d_fed);
  fill_with_zeros(d_norm);
  feed_forward_.backward(pass, shard, cache.feed_forward, d_fed, d_norm);
  norm2_.backward(pass, shard, d_norm, cache.norm2, /*accumulate=*/true, d_x);
  // middle = x + dropout(attention(norm1(x)))
  branch_gradient(pass, shard, d_x, pass.dropout.mask(layer_, Site::attention_output), d_attended);
  fill_with_zeros(d_norm);
  attention_.backward(pass, shard, cache.attention, d_attended, d_context, d_norm, rest);
  norm1_.backward(pass, shard, d_norm, cache.norm1, /*accumulate=*/true, d_x);
}

void PreNormLayer::gradients(const Cache& cache, GradientTasks& tasks) const {
  norm1_.gradients(cache.norm1, tasks);
  attention_.gradients(cache.attention, cache.norm1.y, cache.middle, tasks);
  norm2_.gradients(cache.norm2, tasks);
  feed_forward_.gradients(cache.feed_forward, cache.norm2.y, cache.sum, tasks);
}

}  // namespace semfuse
