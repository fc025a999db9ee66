#include "model/residual_norm.h"

#include <algorithm>

#include "kernels/layer_norm.h"

namespace semfuse {

ResidualNorm::ResidualNorm(ParameterLayout& layout, const std::string& name, std::size_t width, std::size_t layer,
                           DropoutPlan::Site site)
    : gamma_(layout.add(name + ".weight", {width})),
      beta_(layout.add(name + ".bias", {width})),
      width_(width),
      layer_(layer),
      site_(site) {}

void ResidualNorm::initialise(InitialWeights& weights) const {
  weights.fill(gamma_, 1.0f);
}

ResidualNorm::Cache ResidualNorm::allocate(const Batch& batch, Workspace& workspace) const {
  return {.branch = workspace.matrix(batch.num_tokens(), width_),
          .inv_std = workspace.floats(batch.num_tokens()),
          .y = workspace.matrix(batch.num_tokens(), width_),
          .d_gamma = workspace.matrix(batch.shards.size(), width_),
          .d_beta = workspace.matrix(batch.shards.size(), width_)};
}

void ResidualNorm::forward(const Pass& pass, const Shard& shard, ConstMatrix residual, Cache& cache) const {
  add_layer_norm_forward(shard.rows_of(cache.branch), residual, pass.dropout.mask(layer_, site_),
                         pass.dropout_row(shard), pass.vector(gamma_), pass.vector(beta_),
                         cache.inv_std + shard.first_token, shard.rows_of(cache.y));
}

void ResidualNorm::backward(const Pass& pass, const Shard& shard, Matrix d_y, Cache& cache) const {
  float* d_gamma = cache.d_gamma.row(shard.index);
  float* d_beta = cache.d_beta.row(shard.index);
  std::fill_n(d_gamma, width_, 0.0f);
  std::fill_n(d_beta, width_, 0.0f);
  add_layer_norm_backward(d_y, shard.rows_of(cache.branch), pass.dropout.mask(layer_, site_), pass.dropout_row(shard),
                          pass.vector(gamma_), cache.inv_std + shard.first_token, d_gamma, d_beta);
}

void ResidualNorm::gradients(const Cache& cache, GradientTasks& tasks) const {
  tasks.add_row_sum(gamma_, cache.d_gamma);
  tasks.add_row_sum(beta_, cache.d_beta);
}

}  // namespace semfuse
