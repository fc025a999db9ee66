#include "training/adapter_step.h"

#include <algorithm>
#include <utility>

namespace semfuse {

AdapterStep::AdapterStep(const BackboneNetwork& network, double feature_loss, ThreadPool& pool, std::size_t grain,
                         Exchange* exchange)
    : network_(network),
      adapter_(*network.adapter()),
      feature_loss_(feature_loss),
      pool_(pool),
      grain_(grain),
      exchange_(exchange == nullptr ? alone_ : *exchange),
      tree_(adapter_.layout(), exchange_, pool),
      maps_(network.backbone(), pool),
      packed_(adapter_) {
  for (std::size_t i = 0; i < pool.num_threads(); ++i) {
    workers_.push_back(std::make_unique<AdapterGradient>(network.backbone(), maps_, adapter_));
  }
}

std::vector<SentenceRange> AdapterStep::leaves(std::span<const std::size_t> first_token) const {
  const std::size_t most = grain_ == 0 ? kLeafTokens : std::min(grain_, kLeafTokens);
  return cut_sentences(first_token, (first_token.back() + most - 1) / most);
}

LeafRange AdapterStep::own_leaves(std::size_t num_leaves) const {
  return leaves_of_rank(num_leaves, exchange_.rank(), exchange_.size());
}

Losses AdapterStep::run(const BatchShare& share, const ParameterBlock& weights, const DropoutPlan&,
                        ParameterBlock& gradients, const StepWords&, const std::function<void()>& meanwhile) {
  packed_.refresh(weights, pool_);
  const std::size_t num_leaves = share.leaves.size();
  const LeafRange own = own_leaves(num_leaves);
  std::vector<AdapterLosses> sums(num_leaves);
  GradientTree::Share sums_of_ranks;
  for (std::size_t rank = 0; rank < exchange_.size(); ++rank) {
    const LeafRange range = leaves_of_rank(num_leaves, rank, exchange_.size());
    sums_of_ranks.of_rank.push_back(std::as_writable_bytes(std::span(sums).subspan(range.first, range.size())));
  }
  const float per_position = 1.0f / static_cast<float>(share.num_tokens);
  const auto compute = [&](std::size_t leaf, ParameterBlock& into) {
    const std::size_t first = share.leaves[leaf].first - share.leaves[own.first].first;
    sums[leaf] = run_leaf(part_of(share.batch, {first, share.leaves[leaf].count}), per_position, weights, into);
  };
  tree_.sum(num_leaves, compute, gradients, sums_of_ranks, meanwhile);
  const AdapterLosses sum = tree_sum<AdapterLosses>({0, num_leaves}, [&](std::size_t leaf) { return sums[leaf]; });
  const double positions = std::max(1.0, sum.positions);
  Losses result{.tokens = sum.tokens / positions, .features = sum.features / positions};
  result.total = result.tokens + feature_loss_ * result.features;
  return result;
}

// The gradients of the shards are added in their order, whoever computed them.
AdapterLosses AdapterStep::run_leaf(const Batch& leaf, float per_position, const ParameterBlock& weights,
                                    ParameterBlock& into) {
  while (shard_gradients_.size() < leaf.shards.size()) shard_gradients_.emplace_back(adapter_.layout());
  std::vector<AdapterLosses> losses(leaf.shards.size());
  const AdapterGradient::Options options = {.per_position = per_position, .feature_loss = feature_loss_};
  pool_.run(leaf.shards.size(), [&](std::size_t index, std::size_t worker) {
    losses[index] = workers_[worker]->run(leaf, leaf.shards[index], packed_, weights, options, shard_gradients_[index]);
  });
  constexpr std::size_t kPiece = 1 << 14;
  pool_.run((into.size() + kPiece - 1) / kPiece, [&](std::size_t piece, std::size_t) {
    const std::size_t first = piece * kPiece;
    const std::size_t count = std::min(kPiece, into.size() - first);
    float* sum = into.data() + first;
    std::fill_n(sum, count, 0.0f);
    for (std::size_t shard = 0; shard < leaf.shards.size(); ++shard) {
      const float* part = shard_gradients_[shard].data() + first;
      for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
    }
  });
  AdapterLosses sum;
  for (const AdapterLosses& shard : losses) sum += shard;
  return sum;
}

double AdapterStep::flops(const Batch& batch) const {
  const Backbone& backbone = network_.backbone();
  const BackboneSpec& spec = backbone.spec();
  double forward = static_cast<double>(spec.vocab_size * spec.model_width);
  for (std::size_t layer = 0; layer < spec.num_layers; ++layer) {
    forward += static_cast<double>(2 * spec.model_width * (spec.query_width() + spec.key_width()));
    const std::size_t maps = spec.activation == BackboneActivation::swiglu ? 3 : 2;
    forward += static_cast<double>(maps * spec.model_width * spec.hidden_width);
  }
  const auto own = static_cast<double>(adapter_.layout().parameter_count());
  double pairs = 0.0;
  for (std::size_t s = 0; s < batch.num_sentences(); ++s) {
    const auto length = static_cast<double>(batch.length(s));
    pairs += 0.5 * length * (length + 1.0);
  }
  // Frozen maps have no gradient of their own.
  return 2.0 * (static_cast<double>(batch.num_tokens()) * (2.0 * forward + 3.0 * own) +
                2.0 * 3.0 * pairs * static_cast<double>(spec.query_width() * spec.num_layers));
}

}  // namespace semfuse
