// One training step of an adapter up to its gradients; the backbone has none.
#pragma once

#include <memory>
#include <vector>

#include "backbone/adapter_gradient.h"
#include "backbone/backbone_network.h"
#include "training/gradient_step.h"

namespace semfuse {

// Texts that ask for nothing take no part: they are the backbone's.
class AdapterStep : public GradientStep {
 public:
  // Tokens of a leaf, at most, about. Each of its shards has a gradient of its own until they are added.
  static constexpr std::size_t kLeafTokens = 4096;

  // `network`, which has an adapter, `pool` and `exchange`, if there is one, must outlive the step.
  AdapterStep(const BackboneNetwork& network, double feature_loss, ThreadPool& pool, std::size_t grain = 0,
              Exchange* exchange = nullptr);

  Losses run(const BatchShare& share, const ParameterBlock& weights, const DropoutPlan& dropout,
             ParameterBlock& gradients, const StepWords& words = {},
             const std::function<void()>& meanwhile = {}) override;
  std::vector<SentenceRange> leaves(std::span<const std::size_t> first_token) const override;
  LeafRange own_leaves(std::size_t num_leaves) const override;
  bool counts_targets() const override { return false; }
  double flops(const Batch& batch) const override;

 private:
  AdapterLosses run_leaf(const Batch& leaf, float per_position, const ParameterBlock& weights, ParameterBlock& into);

  const BackboneNetwork& network_;
  const Adapter& adapter_;
  double feature_loss_;
  ThreadPool& pool_;
  std::size_t grain_;
  LocalExchange alone_;
  Exchange& exchange_;
  GradientTree tree_;
  FrozenMaps maps_;
  AdapterWeights packed_;
  std::vector<std::unique_ptr<AdapterGradient>> workers_;  // By thread.
  std::vector<ParameterBlock> shard_gradients_;
};

}  // namespace semfuse
