#include "model/past_step.h"

#include <algorithm>
#include <cassert>

namespace semfuse {

PastStep::PastStep(const InferenceWeights& weights) : weights_(weights), positions_(weights.network.options().width) {}

void PastStep::begin(const TokenStream& stream) {
  const Network& network = weights_.network;
  assert(network.options().attention == AttentionMask::causal);
  const std::size_t position = stream.tokens.size() - 1;
  BatchPacker packer(network.num_features(), kShardTokens, network.num_request_columns());
  const auto last = std::span(stream.tokens).last(1);
  packer.add(last, last, std::span(stream.features).last(network.num_features()), stream.request, position);
  batch_ = packer.take_whole();
  positions_.reserve(stream.tokens.size());
  workspace_.reset();
  activations_ = network.allocate(batch_, workspace_);
  scratch_ = workspace_.floats(activations_->scratch_size);
  d_hidden_ = workspace_.matrix(1, network.options().width);
}

Pass PastStep::pass(std::span<KeyValueCache* const> past, std::span<KeyValueCache* const> d_past) const {
  return {.batch = batch_,
          .layout = weights_.network.layout(),
          .weights = weights_.weights,
          .packed = weights_.packed,
          .attention = AttentionMask::causal,
          .dropout = {},
          .past = past,
          .d_past = d_past};
}

std::span<const float> PastStep::forward(KeyValueCache& past) {
  past_ = &past;
  weights_.network.forward(pass({&past_, 1}, {}), batch_.shards[0], positions_.rows(), *activations_, scratch_);
  const Matrix hidden = activations_->hidden();
  return {hidden.row(0), hidden.cols()};
}

void PastStep::backward(std::span<const float> d_hidden, KeyValueCache& d_past) {
  KeyValueCache* const gradient = &d_past;
  std::ranges::copy(d_hidden, d_hidden_.row(0));
  weights_.network.encoder().backward(pass({&past_, 1}, {&gradient, 1}), batch_.shards[0], activations_->encoder,
                                      d_hidden_, scratch_);
}

}  // namespace semfuse
