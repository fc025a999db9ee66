// A network's weights as inference reads them: linear maps packed, output rows computed.
#pragma once

#include "core/thread_pool.h"
#include "model/token_head.h"

namespace semfuse {

// Computed once; may be read from several threads. `network` and `weights` must outlive it and stay as they are.
struct InferenceWeights {
  InferenceWeights(const Network& of_network, const ParameterBlock& of_weights, ThreadPool& pool)
      : network(of_network),
        weights(of_weights),
        packed(network.layout(), network.linears()),
        head(network, output_rows(network), TokenHead::Use::inference) {
    packed.refresh(weights, pool);
    head.refresh(weights, {}, pool);
  }

  const Network& network;
  const ParameterBlock& weights;
  PackedWeights packed;
  TokenHead head;
};

}  // namespace semfuse
