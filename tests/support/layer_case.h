// One layer by itself: a batch, random weights, and what a pass needs, with the gradients as tables.
#pragma once

#include "core/workspace.h"
#include "support/gradient_check.h"
#include "support/small_model.h"

namespace semfuse {

// Declare the layer with layout() and linears(), then call prepare().
class LayerCase {
 public:
  explicit LayerCase(std::size_t num_features = 0, double dropout = 0.3)
      : batch_(random_batch({4, 1, 3, 2}, 9, num_features, 11)), plan_{.rate = dropout, .seed = 12, .step = 13} {
    cut_shards(batch_, 2);  // Two shards: rows of the mask and of every cache begin at more than 0.
  }

  ParameterLayout& layout() { return layout_; }
  LinearList& linears() { return linears_; }
  const Batch& batch() const { return batch_; }
  const DropoutPlan& plan() const { return plan_; }
  Workspace& workspace() { return workspace_; }

  void prepare(AttentionMask attention = AttentionMask::bidirectional) {
    weights_ = random_weights(layout_, 14);
    gradients_ = ParameterBlock(layout_);
    packed_.emplace(layout_, linears_.all());
    packed_->refresh(weights_, pool_);
    pass_.emplace(Pass{.batch = batch_,
                       .layout = layout_,
                       .weights = weights_,
                       .packed = *packed_,
                       .attention = attention,
                       .dropout = plan_});
    tasks_.emplace(layout_, gradients_, /*accumulate=*/false);
  }
  const Pass& pass() const { return *pass_; }
  GradientTasks& tasks() { return *tasks_; }

  // A row for each token, uniform on [-1, 1].
  Matrix random_rows(std::size_t cols, std::uint64_t seed) {
    const Matrix m = workspace_.matrix(batch_.num_tokens(), cols);
    RandomStream random(seed, RandomPurpose::shuffle);
    for (std::size_t i = 0; i < m.rows(); ++i) {
      for (std::size_t j = 0; j < cols; ++j) m(i, j) = static_cast<float>(2.0 * random.next_uniform() - 1.0);
    }
    return m;
  }
  // The same numbers in memory of their own, for a gradient that a layer overwrites.
  Matrix copy(ConstMatrix source) {
    const Matrix m = workspace_.matrix(source.rows(), source.cols());
    for (std::size_t i = 0; i < m.rows(); ++i) std::copy_n(source.row(i), m.cols(), m.row(i));
    return m;
  }

  template <class Body>
  void for_each_shard(const Body& body) const {
    for (const Shard& shard : batch_.shards) body(shard);
  }

  reference::Tables<double> weights() const { return reference::tables_of(layout_, weights_); }
  // Runs the tasks and gives every gradient, d_x under the name "x".
  reference::Tables<double> gradients(ConstMatrix d_x) {
    tasks_->run(pool_);
    return tables(d_x);
  }
  reference::Tables<double> tables(ConstMatrix d_x) const {
    reference::Tables<double> result = reference::tables_of(layout_, gradients_);
    if (d_x.data()) result["x"] = reference::table_of(d_x);
    return result;
  }
  ParameterBlock& gradient_block() { return gradients_; }
  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool pool_{2};
  ParameterLayout layout_;
  LinearList linears_{layout_};
  Batch batch_;
  DropoutPlan plan_;
  Workspace workspace_;
  ParameterBlock weights_;
  ParameterBlock gradients_;
  std::optional<PackedWeights> packed_;
  std::optional<Pass> pass_;
  std::optional<GradientTasks> tasks_;
};

// Σ d_y ∘ y, whose gradients are those that a layer gives for the output gradient d_y.
template <class T>
T weighted_sum(const reference::Table<T>& y, ConstMatrix d_y) {
  T sum = 0.0;
  for (std::size_t i = 0; i < y.rows; ++i) {
    for (std::size_t j = 0; j < y.cols; ++j) sum += y(i, j) * static_cast<double>(d_y(i, j));
  }
  return sum;
}

// The engine's output within 1e-5 of the twin's.
inline void expect_output(ConstMatrix engine, const reference::Table<double>& twin) {
  expect_close({{"output", reference::table_of(engine)}}, {{"output", twin}}, 1e-5);
}

}  // namespace semfuse
