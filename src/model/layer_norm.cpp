#include "model/layer_norm.h"

#include <algorithm>

#include "kernels/layer_norm.h"

namespace semfuse {

LayerNorm::LayerNorm(ParameterLayout& layout, const std::string& name, std::size_t width)
    : gamma_(layout.add(name + ".weight", {width})), beta_(layout.add(name + ".bias", {width})), width_(width) {}

void LayerNorm::initialise(InitialWeights& weights) const {
  weights.fill(gamma_, 1.0f);
}

LayerNorm::Cache LayerNorm::allocate(const Batch& batch, Workspace& workspace) const {
  return {.x_hat = workspace.matrix(batch.num_tokens(), width_),
          .inv_std = workspace.floats(batch.num_tokens()),
          .y = workspace.matrix(batch.num_tokens(), width_),
          .d_gamma = workspace.matrix(batch.shards.size(), width_),
          .d_beta = workspace.matrix(batch.shards.size(), width_)};
}

void LayerNorm::forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache) const {
  layer_norm_forward(x, pass.vector(gamma_), pass.vector(beta_), cache.inv_std + shard.first_token,
                     shard.rows_of(cache.x_hat), shard.rows_of(cache.y));
}

void LayerNorm::backward(const Pass& pass, const Shard& shard, ConstMatrix d_y, Cache& cache, bool accumulate,
                         Matrix d_x) const {
  float* d_gamma = cache.d_gamma.row(shard.index);
  float* d_beta = cache.d_beta.row(shard.index);
  std::fill_n(d_gamma, width_, 0.0f);
  std::fill_n(d_beta, width_, 0.0f);
  layer_norm_backward(d_y, shard.rows_of(cache.x_hat), pass.vector(gamma_), cache.inv_std + shard.first_token, d_gamma,
                      d_beta, accumulate, d_x);
}

void LayerNorm::gradients(const Cache& cache, GradientTasks& tasks) const {
  tasks.add_row_sum(gamma_, cache.d_gamma);
  tasks.add_row_sum(beta_, cache.d_beta);
}

}  // namespace semfuse
