#include "training/training_step.h"

#include <algorithm>
#include <span>
#include <utility>

#include "losses/feature_reconstruction.h"
#include "losses/token_cross_entropy.h"

namespace semfuse {

TrainingStep::TrainingStep(const Network& network, LossOptions losses, ThreadPool& pool, std::size_t chunk_logits)
    : network_(network),
      losses_(std::move(losses)),
      uniformity_(losses_.classes),
      pool_(pool),
      chunk_logits_(chunk_logits),
      packed_(network.layout(), network.linears()),
      positions_(network.options().width) {}

std::size_t TrainingStep::peak_bytes() const {
  return workspace_.peak_bytes();
}

std::size_t TrainingStep::number_of_chunks(const Batch& batch) const {
  const auto parts = [](std::size_t whole, std::size_t part) { return (whole + part - 1) / part; };
  return std::max(parts(batch.num_tokens(), kChunkTokens),
                  parts(batch.num_tokens() * network_.vocab_size(), chunk_logits_));
}

Losses TrainingStep::run(const Batch& batch, const ParameterBlock& weights, const DropoutPlan& dropout,
                         ParameterBlock& gradients) {
  packed_.refresh(weights, pool_);
  positions_.reserve(batch.longest());
  const Scales scales{.per_token = 1.0f / static_cast<float>(batch.num_tokens()),
                      .uniformity_position_weights = uniformity_.position_weights(batch.targets)};
  const std::size_t num_chunks = number_of_chunks(batch);
  LossSums sums;
  if (num_chunks == 1) {
    sums = run_chunk(batch, scales, weights, dropout, /*accumulate=*/false, gradients);
  } else {
    bool accumulate = false;
    for (const Batch& chunk : split(batch, num_chunks)) {
      const LossSums chunk_sums = run_chunk(chunk, scales, weights, dropout, accumulate, gradients);
      sums.tokens += chunk_sums.tokens;
      sums.features += chunk_sums.features;
      sums.uniformity += chunk_sums.uniformity;
      accumulate = true;
    }
  }
  const auto num_tokens = static_cast<double>(batch.num_tokens());
  Losses result{
      .tokens = sums.tokens / num_tokens, .features = sums.features / num_tokens, .uniformity = sums.uniformity};
  result.total = result.tokens + losses_.feature_loss * result.features + losses_.uniformity_loss * result.uniformity;
  return result;
}

TrainingStep::LossSums TrainingStep::run_chunk(const Batch& chunk, const Scales& scales, const ParameterBlock& weights,
                                               const DropoutPlan& dropout, bool accumulate, ParameterBlock& gradients) {
  workspace_.reset();
  Network::Activations activations = network_.allocate(chunk, workspace_);
  const Matrix d_x = workspace_.matrix(chunk.num_tokens(), network_.options().width);
  const Matrix logits = workspace_.matrix(chunk.num_tokens(), network_.vocab_size());
  const std::size_t scratch_size = whole_lines(activations.scratch_size);
  float* scratch = workspace_.floats(scratch_size * pool_.num_threads());
  const Pass pass{.batch = chunk,
                  .layout = network_.layout(),
                  .weights = weights,
                  .packed = packed_,
                  .attention = network_.options().attention,
                  .dropout = dropout};

  // A shard goes all the way without waiting for the others.
  std::vector<LossSums> shard_sums(chunk.shards.size());
  pool_.run(chunk.shards.size(), [&](std::size_t index, std::size_t worker) {
    const Shard& shard = chunk.shards[index];
    float* own_scratch = scratch + worker * scratch_size;
    network_.forward(pass, shard, positions_.rows(), activations, own_scratch);
    shard_sums[index] = run_heads(pass, shard, scales, activations, shard.rows_of(logits), shard.rows_of(d_x));
    network_.backward(pass, shard, activations, shard.rows_of(d_x), own_scratch);
  });

  GradientTasks tasks(network_.layout(), gradients, accumulate);
  tasks.add(network_.token_head(), logits, activations.hidden());
  network_.gradients(activations, tasks);
  tasks.run(pool_);
  network_.embedding().scatter_gradient(chunk, d_x, gradients.matrix(network_.layout()[network_.token_table()]), pool_);

  LossSums sums;
  for (const LossSums& shard : shard_sums) {
    sums.tokens += shard.tokens;
    sums.features += shard.features;
    sums.uniformity += shard.uniformity;
  }
  return sums;
}

TrainingStep::LossSums TrainingStep::run_heads(const Pass& pass, const Shard& shard, const Scales& scales,
                                               Network::Activations& activations, Matrix logits,
                                               Matrix d_hidden) const {
  const ConstMatrix hidden = shard.rows_of(activations.hidden());
  const std::span<const TokenId> targets = std::span(pass.batch.targets).subspan(shard.first_token, shard.num_tokens);
  LossSums sums;

  packed_.forward(network_.token_head(), hidden, logits);
  if (network_.feature_head()) network_.feature_head()->forward(pass, shard, hidden, *activations.feature_head);
  if (on_logits) {
    on_logits(pass.batch.first_row + shard.first_token, logits,
              network_.feature_head() ? shard.rows_of(activations.feature_head->logits) : Matrix());
  }

  std::vector<ClassUniformity::LogitGradient> uniformity_gradient;
  sums.uniformity = uniformity_.evaluate(logits, targets, scales.uniformity_position_weights, losses_.uniformity_loss,
                                         uniformity_gradient);
  sums.tokens = token_cross_entropy(logits, targets, losses_.label_smoothing, scales.per_token);
  for (const auto& [row, token, value] : uniformity_gradient) logits(row, static_cast<std::size_t>(token)) += value;
  packed_.backward(network_.token_head(), logits, d_hidden, false);

  if (network_.feature_head()) {
    sums.features = feature_reconstruction(shard.rows_of(activations.feature_head->logits),
                                           shard.rows_of(pass.batch.feature_rows()),
                                           static_cast<float>(losses_.feature_loss) * scales.per_token);
    network_.feature_head()->backward(pass, shard, *activations.feature_head, d_hidden);
  }
  return sums;
}

}  // namespace semfuse
