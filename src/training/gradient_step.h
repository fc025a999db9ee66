// One training step up to the gradients, whatever is trained.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "batching/batch.h"
#include "core/parameter_block.h"
#include "model/pass.h"
#include "training/gradient_tree.h"
#include "training/polarity_jitter.h"

namespace semfuse {

struct Losses {
  double tokens = 0.0;
  double features = 0.0;
  double uniformity = 0.0;
  double classes = 0.0;
  double total = 0.0;  // tokens + λ features + λ uniformity + λ classes
};

// What one process computes of a batch, and what it has to know of the rest.
struct BatchShare {
  Batch batch;                        // The sentences of its own leaves; there may be none.
  std::vector<SentenceRange> leaves;  // Of the whole batch, as GradientStep::leaves cuts it.
  std::size_t num_tokens = 0;         // Of the whole batch; so are
  std::vector<TokenId> targets;       // all targets, which may be left out if GradientStep::counts_targets is false.
};

class GradientStep {
 public:
  virtual ~GradientStep() = default;

  // For a batch that several processes share: each calls it with its own share, and each gets the result of the whole.
  // `meanwhile` runs once, while gradients are on their way. Overwrites the gradients. The result is the same for any
  // number of threads.
  virtual Losses run(const BatchShare& share, const ParameterBlock& weights, const DropoutPlan& dropout,
                     ParameterBlock& gradients, const StepWords& words, const std::function<void()>& meanwhile) = 0;

  // Cuts a batch, whose sentences begin at these tokens, into leaves.
  virtual std::vector<SentenceRange> leaves(std::span<const std::size_t> first_token) const = 0;
  // Of so many leaves, those that this process computes.
  virtual LeafRange own_leaves(std::size_t num_leaves) const = 0;
  // Whether a loss needs to know the targets of the whole batch.
  virtual bool counts_targets() const = 0;
  // Of the matrix products of such a batch.
  virtual double flops(const Batch& batch) const = 0;
};

}  // namespace semfuse
