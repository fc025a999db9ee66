// Forward only: the logits of every position of a batch, shard by shard.
#pragma once

#include <functional>

#include "core/thread_pool.h"
#include "model/token_head.h"

namespace semfuse {

class ForwardPass {
 public:
  // `network` and `pool` must outlive it.
  ForwardPass(const Network& network, ThreadPool& pool);

  // `weights` must outlive the passes; call it again after they changed.
  void set_weights(const ParameterBlock& weights);

  // Calls visit(shard, logits [shard tokens, vocab_size], feature logits [shard tokens, num_features]) for every shard,
  // from several threads at once. The views may be written to, and are gone after the call.
  void run(const Batch& batch, const std::function<void(const Shard&, Matrix logits, Matrix feature_logits)>& visit);

 private:
  const Network& network_;
  ThreadPool& pool_;
  PackedWeights packed_;
  TokenHead head_;
  PositionTable positions_;
  Workspace workspace_;
  const ParameterBlock* weights_ = nullptr;
};

}  // namespace semfuse
