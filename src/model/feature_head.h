// Reads the features back from the hidden states: linear, ReLU, linear.
#pragma once

#include "core/workspace.h"
#include "model/initial_weights.h"
#include "model/pass.h"

namespace semfuse {

class FeatureHead {
 public:
  FeatureHead(LinearList& linears, std::size_t width, std::size_t inner_width, std::size_t num_features);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix inner;    // [num_tokens, inner_width], after ReLU
    Matrix logits;   // [num_tokens, num_features]; the loss leaves their gradient here
    Matrix d_inner;  // [num_tokens, inner_width], backward only
  };
  Cache allocate(const Batch& batch, Workspace& workspace) const;

  void forward(const Pass& pass, const Shard& shard, ConstMatrix hidden, Cache& cache) const;
  // d_hidden += the gradient of the hidden states
  void backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_hidden) const;
  void gradients(const Cache& cache, ConstMatrix hidden, GradientTasks& tasks) const;

 private:
  Linear first_;
  Linear second_;
};

}  // namespace semfuse
