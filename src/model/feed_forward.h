// The two-layer network inside an encoder layer: linear, ReLU, dropout, linear.
#pragma once

#include <string>

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

class FeedForward {
 public:
  FeedForward(LinearList& linears, const std::string& name, std::size_t width, std::size_t inner_width,
              std::size_t layer);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix inner;    // [num_tokens, inner_width], after ReLU and dropout
    Matrix d_inner;  // [num_tokens, inner_width], backward only
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;

  // y before its dropout
  void forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache, Matrix y) const;
  // d_x += the gradient of x
  void backward(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_y, Matrix d_x) const;
  void gradients(const Cache& cache, ConstMatrix x, ConstMatrix d_y, GradientTasks& tasks) const;

 private:
  std::size_t layer_;
  Linear linear1_;
  Linear linear2_;
};

}  // namespace semfuse
