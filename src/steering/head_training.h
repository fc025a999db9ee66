// What each kind of head learns in a step. All are trained by one loop (train_steering).
#pragma once

#include <memory>
#include <span>

#include "batching/batch.h"
#include "core/parameter_block.h"
#include "generation/read_model.h"
#include "semfuse/steering.h"

namespace semfuse {

// One batch of texts in the frozen model.
struct HeadBatch {
  const Batch& batch;
  ConstMatrix hidden;             // [num_tokens, width]
  std::span<const float> labels;  // Of each text, in [0, 1].
  // Of each text, how many of its first tokens say nothing of the label; empty: none do.
  std::span<const std::size_t> silent = {};
  // By how much more probable the label is of such texts than of what the model writes, in log-odds: that is not
  // learned.
  float shift = 0.0f;
};

// Holds parameter ids and no numbers, as layers do. One thread at a time.
class HeadTraining {
 public:
  virtual ~HeadTraining() = default;
  const ParameterLayout& layout() const { return layout_; }

  // First values; number i of a parameter depends on (seed, parameter, i).
  virtual void initialise(std::uint64_t seed, ParameterBlock& weights) const = 0;
  // The mean loss of a batch; its gradients are added to `gradients`.
  virtual double step(const HeadBatch& batch, const ParameterBlock& weights, ParameterBlock& gradients) = 0;

 protected:
  ParameterLayout layout_;
};

// The frozen model must outlive them. The last two throw Error for a pretrained one.
std::unique_ptr<HeadTraining> value_training(const ReadModel& model);
std::unique_ptr<HeadTraining> prefix_training(const ReadModel& model);
std::unique_ptr<HeadTraining> steer_training(const ReadModel& model);
std::unique_ptr<HeadTraining> mean_training(const ReadModel& model);

}  // namespace semfuse
