// One step of a causal model after a past that may have been moved, and what its outcome owes to that past.
#pragma once

#include <optional>
#include <span>

#include "model/incremental_pass.h"

namespace semfuse {

// One thread at a time.
class PastStep {
 public:
  // `weights`, of a causal model, must outlive it.
  explicit PastStep(const InferenceWeights& weights);

  // The step that reads the last token of a stream; what follows is of this step.
  void begin(const TokenStream& stream);

  // The hidden state [width] of the token, where those before it have the keys and values of `past`; its own are stored
  // there. Valid until the next call; `past` must stay as it is until backward().
  std::span<const float> forward(KeyValueCache& past);

  // From the gradient of the hidden state to that of the past's keys and values; that of the token's own, which are no
  // past, is 0. Must follow forward(). d_past must have room for all tokens.
  void backward(std::span<const float> d_hidden, KeyValueCache& d_past);

 private:
  Pass pass(std::span<KeyValueCache* const> past, std::span<KeyValueCache* const> d_past) const;

  const InferenceWeights& weights_;
  PositionTable positions_;
  Workspace workspace_;
  Batch batch_;
  std::optional<Network::Activations> activations_;
  float* scratch_ = nullptr;
  Matrix d_hidden_;  // [1, width]
  KeyValueCache* past_ = nullptr;
};

}  // namespace semfuse
