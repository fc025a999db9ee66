#include "training/training_step.h"

#include <algorithm>
#include <functional>

#include "kernels/matmul.h"
#include "losses/feature_reconstruction.h"
#include "losses/token_cross_entropy.h"

namespace semfuse {

struct TrainingStep::Group {
  std::size_t first_shard;
  std::size_t num_shards;
  std::size_t first_token;
  std::size_t num_tokens;
};

TrainingStep::TrainingStep(const Network& network, LossOptions losses, ThreadPool& pool, std::size_t most_logits)
    : network_(network),
      losses_(std::move(losses)),
      uniformity_(losses_.classes),
      pool_(pool),
      most_logits_(most_logits),
      packed_(network.layout(), network.linears()),
      positions_(network.options().width) {}

std::size_t TrainingStep::peak_bytes() const { return workspace_.peak_bytes(); }

std::vector<TrainingStep::Group> TrainingStep::group_shards(const Batch& batch) const {
  std::vector<Group> groups;
  for (const Shard& shard : batch.shards) {
    if (groups.empty() || (groups.back().num_tokens + shard.num_tokens) * network_.vocab_size() > most_logits_) {
      groups.push_back({.first_shard = shard.index, .num_shards = 0, .first_token = shard.first_token, .num_tokens = 0});
    }
    groups.back().num_shards += 1;
    groups.back().num_tokens += shard.num_tokens;
  }
  return groups;
}

TrainingStep::ShardLosses TrainingStep::run_heads(const Pass& pass, const Shard& shard, const std::vector<double>& position_weights,
                                                  Network::Activations& activations, Matrix logits, Matrix d_hidden) const {
  const ConstMatrix hidden = shard.rows_of(activations.hidden());
  const std::span<const TokenId> targets = std::span(pass.batch.targets).subspan(shard.first_token, shard.num_tokens);
  const float per_token = 1.0f / static_cast<float>(pass.batch.num_tokens());
  ShardLosses result;

  packed_.forward(network_.token_head(), hidden, logits);
  if (network_.feature_head()) network_.feature_head()->forward(pass, shard, hidden, *activations.feature_head);
  if (on_logits) on_logits(shard, logits, network_.feature_head() ? shard.rows_of(activations.feature_head->logits) : Matrix());

  std::vector<ClassUniformity::LogitGradient> uniformity_gradient;
  result.uniformity = uniformity_.evaluate(logits, targets, position_weights, losses_.uniformity_loss, uniformity_gradient);
  result.tokens = token_cross_entropy(logits, targets, losses_.label_smoothing, per_token);
  for (const auto& [row, token, value] : uniformity_gradient) logits(row, static_cast<std::size_t>(token)) += value;
  packed_.backward(network_.token_head(), logits, d_hidden, false);

  if (network_.feature_head()) {
    result.features = feature_reconstruction(shard.rows_of(activations.feature_head->logits), shard.rows_of(pass.batch.feature_rows()),
                                             static_cast<float>(losses_.feature_loss) * per_token);
    network_.feature_head()->backward(pass, shard, *activations.feature_head, d_hidden);
  }
  return result;
}

Losses TrainingStep::run(const Batch& batch, const ParameterBlock& weights, const DropoutPlan& dropout, ParameterBlock& gradients) {
  packed_.refresh(weights, pool_);
  positions_.reserve(batch.longest());
  workspace_.reset();
  Network::Activations activations = network_.allocate(batch, workspace_);
  const Matrix d_x = workspace_.matrix(batch.num_tokens(), network_.options().width);
  const std::vector<Group> groups = group_shards(batch);
  std::size_t most_tokens = 0;
  for (const Group& group : groups) most_tokens = std::max(most_tokens, group.num_tokens);
  const Matrix logits = workspace_.matrix(most_tokens, network_.vocab_size());
  const std::size_t scratch_size = whole_lines(activations.scratch_size);
  float* scratch = workspace_.floats(scratch_size * pool_.num_threads());

  const Pass pass{.batch = batch, .layout = network_.layout(), .weights = weights, .packed = packed_,
                  .attention = network_.options().attention, .dropout = dropout};
  const std::vector<double> position_weights = uniformity_.position_weights(batch.targets);
  std::vector<ShardLosses> shard_losses(batch.shards.size());

  const auto forward = [&](const Shard& shard, std::size_t worker) {
    network_.forward(pass, shard, positions_.rows(), activations, scratch + worker * scratch_size);
  };
  const auto heads = [&](const Shard& shard, const Group& group) {
    shard_losses[shard.index] = run_heads(pass, shard, position_weights, activations,
                                          logits.row_range(shard.first_token - group.first_token, shard.num_tokens), shard.rows_of(d_x));
  };
  const auto backward = [&](const Shard& shard, std::size_t worker) {
    network_.backward(pass, shard, activations, shard.rows_of(d_x), scratch + worker * scratch_size);
  };
  const auto table_gradient = [&](const Group& group, GradientTasks& tasks) {
    tasks.add(network_.token_head(), logits.row_range(0, group.num_tokens),
              activations.hidden().row_range(group.first_token, group.num_tokens), group.first_shard > 0);
  };

  GradientTasks tasks(network_.layout(), gradients);
  if (groups.size() == 1) {
    // The common case: a shard goes all the way while its activations are in the cache.
    pool_.run(batch.shards.size(), [&](std::size_t index, std::size_t worker) {
      const Shard& shard = batch.shards[index];
      forward(shard, worker);
      heads(shard, groups.front());
      backward(shard, worker);
    });
    table_gradient(groups.front(), tasks);
  } else {
    pool_.run(batch.shards.size(), [&](std::size_t index, std::size_t worker) { forward(batch.shards[index], worker); });
    for (const Group& group : groups) {
      pool_.run(group.num_shards, [&](std::size_t index, std::size_t) { heads(batch.shards[group.first_shard + index], group); });
      GradientTasks table_tasks(network_.layout(), gradients);
      table_gradient(group, table_tasks);
      table_tasks.run(pool_);
    }
    pool_.run(batch.shards.size(), [&](std::size_t index, std::size_t worker) { backward(batch.shards[index], worker); });
  }
  network_.gradients(activations, tasks);
  tasks.run(pool_);
  network_.embedding().scatter_gradient(batch, d_x, gradients.matrix(network_.layout()[network_.token_table()]), pool_);

  Losses result;
  for (const ShardLosses& shard : shard_losses) {
    result.tokens += shard.tokens;
    result.features += shard.features;
    result.uniformity += shard.uniformity;
  }
  result.tokens /= static_cast<double>(batch.num_tokens());
  result.features /= static_cast<double>(batch.num_tokens());
  result.total = result.tokens + losses_.feature_loss * result.features + losses_.uniformity_loss * result.uniformity;
  return result;
}

}  // namespace semfuse
