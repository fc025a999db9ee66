#include "model/feed_forward.h"

#include "kernels/activations.h"

namespace semfuse {

FeedForward::FeedForward(LinearList& linears, const std::string& name, std::size_t width, std::size_t inner_width,
                         std::size_t layer)
    : layer_(layer),
      linear1_(linears.add(name + ".linear1", width, inner_width, width)),
      linear2_(linears.add(name + ".linear2", inner_width, width, inner_width)) {}

void FeedForward::initialise(InitialWeights& weights) const {
  weights.draw(linear1_);
  weights.draw(linear2_);
}

FeedForward::Cache FeedForward::allocate(const Batch& batch, Workspace& workspace) const {
  return {.inner = workspace.matrix(batch.num_tokens(), linear1_.outputs),
          .d_inner = workspace.matrix(batch.num_tokens(), linear1_.outputs)};
}

void FeedForward::forward(const Pass& pass, const Shard& shard, ConstMatrix x, Cache& cache, Matrix y) const {
  const Matrix inner = shard.rows_of(cache.inner);
  pass.packed.forward(linear1_, x, inner, /*relu=*/true);
  dropout_forward(inner, pass.dropout.mask(layer_, DropoutPlan::Site::feed_forward_inner), pass.dropout_row(shard));
  pass.packed.forward(linear2_, inner, y);
}

void FeedForward::backward(const Pass& pass, const Shard& shard, Cache& cache, ConstMatrix d_y, Matrix d_x) const {
  const Matrix d_inner = shard.rows_of(cache.d_inner);
  // y = inner · linear2ᵀ
  pass.packed.backward(linear2_, d_y, d_inner, false);
  // inner = dropout(relu(·)): what is above 0 was neither cut by ReLU nor dropped.
  const float scale = pass.dropout.mask(layer_, DropoutPlan::Site::feed_forward_inner).scale;
  relu_dropout_backward(shard.rows_of(cache.inner), scale, d_inner);
  // · = x · linear1ᵀ
  pass.packed.backward(linear1_, d_inner, d_x, true);
}

void FeedForward::gradients(const Cache& cache, ConstMatrix x, ConstMatrix d_y, GradientTasks& tasks) const {
  tasks.add(linear1_, cache.d_inner, x);
  tasks.add(linear2_, d_y, cache.inner);
}

}  // namespace semfuse
