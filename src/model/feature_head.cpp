#include "model/feature_head.h"

#include "kernels/activations.h"

namespace semfuse {

FeatureHead::FeatureHead(LinearList& linears, std::size_t width, std::size_t inner_width, std::size_t num_features)
    : first_(linears.add("aux_head.0", width, inner_width, width)),
      second_(linears.add("aux_head.2", inner_width, num_features, inner_width)) {}

void FeatureHead::initialise(InitialWeights& weights) const {
  weights.draw(first_);
  weights.draw(second_);
}

FeatureHead::Cache FeatureHead::allocate(const Batch& batch, Workspace& workspace) const {
  return {.inner = workspace.matrix(batch.num_tokens(), first_.outputs),
          .logits = workspace.matrix(batch.num_tokens(), second_.outputs),
          .d_inner = workspace.matrix(batch.num_tokens(), first_.outputs)};
}

void FeatureHead::forward(const Pass& pass, const Shard& shard, ConstMatrix hidden, Cache& cache) const {
  pass.packed.forward(first_, hidden, shard.rows_of(cache.inner), /*relu=*/true);
  pass.packed.forward(second_, shard.rows_of(cache.inner), shard.rows_of(cache.logits));
}

void FeatureHead::backward(const Pass& pass, const Shard& shard, Cache& cache, Matrix d_hidden) const {
  const Matrix d_inner = shard.rows_of(cache.d_inner);
  // logits = inner · secondᵀ
  pass.packed.backward(second_, shard.rows_of(cache.logits), d_inner, false);
  // inner = relu(hidden · firstᵀ)
  relu_dropout_backward(shard.rows_of(cache.inner), 1.0f, d_inner);
  pass.packed.backward(first_, d_inner, d_hidden, true);
}

void FeatureHead::gradients(const Cache& cache, ConstMatrix hidden, GradientTasks& tasks) const {
  tasks.add(first_, cache.d_inner, hidden);
  tasks.add(second_, cache.logits, cache.inner);
}

}  // namespace semfuse
