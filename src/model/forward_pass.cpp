#include "model/forward_pass.h"

#include <algorithm>
#include <cassert>

namespace semfuse {

ForwardPass::ForwardPass(const Network& network, ThreadPool& pool)
    : network_(network),
      pool_(pool),
      packed_(network.layout(), network.linears()),
      head_(network, output_rows(network), TokenHead::Use::inference),
      positions_(network.options().width) {}

void ForwardPass::set_weights(const ParameterBlock& weights) {
  weights_ = &weights;
  packed_.refresh(weights, pool_);
  head_.refresh(weights, {}, pool_);
}

void ForwardPass::run(const Batch& batch, const std::function<void(const Shard&, Matrix, Matrix)>& visit) {
  assert(weights_);
  positions_.reserve(batch.longest());
  workspace_.reset();
  Network::Activations activations = network_.allocate(batch, workspace_);
  std::size_t largest_shard = 0;
  for (const Shard& shard : batch.shards) largest_shard = std::max(largest_shard, shard.num_tokens);
  std::vector<Matrix> logits;
  std::vector<float*> scratch;
  for (std::size_t worker = 0; worker < pool_.num_threads(); ++worker) {
    logits.push_back(workspace_.matrix(largest_shard, network_.vocab_size()));
    scratch.push_back(workspace_.floats(activations.scratch_size));
  }
  const Pass pass{.batch = batch,
                  .layout = network_.layout(),
                  .weights = *weights_,
                  .packed = packed_,
                  .attention = network_.options().attention,
                  .dropout = {}};
  pool_.run(batch.shards.size(), [&](std::size_t index, std::size_t worker) {
    const Shard& shard = batch.shards[index];
    network_.forward(pass, shard, positions_.rows(), activations, scratch[worker]);
    const ConstMatrix hidden = shard.rows_of(activations.hidden());
    const Matrix shard_logits = logits[worker].row_range(0, shard.num_tokens);
    head_.forward(hidden, shard_logits);
    Matrix feature_logits;
    if (network_.feature_head()) {
      network_.feature_head()->forward(pass, shard, hidden, *activations.feature_head);
      feature_logits = shard.rows_of(activations.feature_head->logits);
    }
    visit(shard, shard_logits, feature_logits);
  });
}

}  // namespace semfuse
