// One post-norm encoder layer: attention, add & norm, feed-forward, add & norm.
#pragma once

#include <string>

#include "model/feed_forward.h"
#include "model/residual_norm.h"
#include "model/self_attention.h"

namespace semfuse {

class EncoderLayer {
 public:
  EncoderLayer(ParameterLayout& layout, LinearList& linears, const ModelOptions& options, std::size_t layer);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix input;  // [num_tokens, width], the output of the layer below
    SelfAttention::Cache attention;
    ResidualNorm::Cache norm1;
    FeedForward::Cache feed_forward;
    ResidualNorm::Cache norm2;

    Matrix output() const { return norm2.y; }
  };
  Cache allocate(const Batch& batch, Matrix input, Workspace& workspace) const;
  std::size_t scratch_size(const Batch& batch) const { return attention_.scratch_size(batch); }

  void forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const;
  // d_x: the gradient of the output becomes that of the input. d_context is scratch of the same shape.
  void backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, Matrix d_context, float* scratch) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;

 private:
  SelfAttention attention_;
  FeedForward feed_forward_;
  ResidualNorm norm1_;
  ResidualNorm norm2_;
};

}  // namespace semfuse
