// y = LayerNorm(x), the beginning of each half of a pre-norm layer and the end of an encoder of such layers.
#pragma once

#include <string>

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

class LayerNorm {
 public:
  LayerNorm(ParameterLayout& layout, const std::string& name, std::size_t width);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix x_hat;    // [num_tokens, width]
    float* inv_std;  // [num_tokens]
    Matrix y;        // [num_tokens, width]
    Matrix d_gamma;  // [num_shards, width]
    Matrix d_beta;   // [num_shards, width]
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;

  void forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache) const;
  // d_x (+)= the gradient of x; without `accumulate` it may be d_y itself.
  void backward(const Pass& pass, const Shard& shard, ConstMatrix d_y, Cache& cache, bool accumulate, Matrix d_x) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;

 private:
  ParameterId gamma_;
  ParameterId beta_;
  std::size_t width_;
};

}  // namespace semfuse
