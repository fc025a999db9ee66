// y = LayerNorm(residual + dropout(branch)), the end of each half of a post-norm encoder layer.
#pragma once

#include <string>

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

class ResidualNorm {
 public:
  ResidualNorm(ParameterLayout& layout, const std::string& name, std::size_t width, std::size_t layer,
               DropoutPlan::Site site);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix branch;   // [num_tokens, width]; forward: the branch, then x_hat; backward: the branch's gradient.
    float* inv_std;  // [num_tokens]
    Matrix y;        // [num_tokens, width]
    Matrix d_gamma;  // [num_shards, width]
    Matrix d_beta;   // [num_shards, width]
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;

  // cache.branch must hold the branch.
  void forward(const Pass& pass, const Shard& shard, ConstMatrix residual, Cache& cache) const;
  // d_y becomes the residual's gradient; the branch's is left in cache.branch.
  void backward(const Pass& pass, const Shard& shard, Matrix d_y, Cache& cache) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;

 private:
  ParameterId gamma_;
  ParameterId beta_;
  std::size_t width_;
  std::size_t layer_;
  DropoutPlan::Site site_;
};

}  // namespace semfuse
