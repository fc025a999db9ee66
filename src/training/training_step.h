// One training step up to the gradients: forward, losses, backward.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/thread_pool.h"
#include "core/workspace.h"
#include "losses/class_uniformity.h"
#include "model/network.h"

namespace semfuse {

struct LossOptions {
  double label_smoothing = 0.0;
  double feature_loss = 0.0;     // Weight λ of the feature reconstruction.
  double uniformity_loss = 0.0;  // Weight λ of the class uniformity.
  std::vector<std::vector<TokenId>> classes;
};

struct Losses {
  double tokens = 0.0;
  double features = 0.0;
  double uniformity = 0.0;
  double total = 0.0;  // tokens + λ features + λ uniformity
};

// Owns the memory that a step needs, so that steps after the first allocate nothing of size.
class TrainingStep {
 public:
  // Floats of logits that are in memory at once (32 MiB), unless a single shard has more.
  static constexpr std::size_t kMostLogits = std::size_t{1} << 23;

  // `network` and `pool` must outlive the step.
  TrainingStep(const Network& network, LossOptions losses, ThreadPool& pool, std::size_t most_logits = kMostLogits);

  // Overwrites the gradients. The result is the same for any number of threads.
  Losses run(const Batch& batch, const ParameterBlock& weights, const DropoutPlan& dropout, ParameterBlock& gradients);

  std::size_t peak_bytes() const;

  // Called with the logits of a shard before the losses turn them into gradients; for the parity check.
  std::function<void(const Shard&, ConstMatrix logits, ConstMatrix feature_logits)> on_logits;

 private:
  struct ShardLosses {
    double tokens = 0.0;
    double features = 0.0;
    double uniformity = 0.0;
  };
  struct Group;  // Shards whose logits are in memory at the same time.

  std::vector<Group> group_shards(const Batch& batch) const;
  ShardLosses run_heads(const Pass& pass, const Shard& shard, const std::vector<double>& position_weights,
                        Network::Activations& activations, Matrix logits, Matrix d_hidden) const;

  const Network& network_;
  LossOptions losses_;
  ClassUniformity uniformity_;
  ThreadPool& pool_;
  std::size_t most_logits_;
  PackedWeights packed_;
  PositionTable positions_;
  Workspace workspace_;
};

}  // namespace semfuse
