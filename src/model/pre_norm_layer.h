// One pre-norm encoder layer: norm, attention, add, norm, feed-forward, add. The sibling of EncoderLayer.
#pragma once

#include "model/feed_forward.h"
#include "model/layer_norm.h"
#include "model/self_attention.h"

namespace semfuse {

class PreNormLayer {
 public:
  PreNormLayer(ParameterLayout& layout, LinearList& linears, const ModelOptions& options, std::size_t layer);
  void initialise(InitialWeights& weights) const;

  struct Cache {
    Matrix input;  // [num_tokens, width], the output of the layer below
    LayerNorm::Cache norm1;
    SelfAttention::Cache attention;
    Matrix middle;  // [num_tokens, width]; forward: input + attention; backward: the gradient of attention.
    LayerNorm::Cache norm2;
    FeedForward::Cache feed_forward;
    Matrix sum;  // [num_tokens, width]; forward: middle + feed-forward, the output; backward: the latter's gradient.

    Matrix output() const { return sum; }
  };
  Cache allocate(const Batch& batch, Matrix input, Workspace& workspace) const;
  std::size_t scratch_size(const Batch& batch) const;

  void forward(const Pass& pass, const Shard& shard, Cache& cache, float* scratch) const;
  // d_x: the gradient of the output becomes that of the input. d_context is scratch of the same shape.
  void backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_x, Matrix d_context, float* scratch) const;
  void gradients(const Cache& cache, GradientTasks& tasks) const;

 private:
  std::size_t width_;
  std::size_t layer_;
  LayerNorm norm1_;
  SelfAttention attention_;
  LayerNorm norm2_;
  FeedForward feed_forward_;
};

}  // namespace semfuse
