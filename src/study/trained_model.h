// A model trained from nothing, in memory: what a study repeats over seeds.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "semfuse/assembly.h"

namespace semfuse {

// Asked before each step with the share of the steps that are done; false stops the training.
using GoOn = std::function<bool(double share)>;

struct TrainedModel {
  Assembly assembly;                    // Its model is the trained one.
  std::vector<Evaluation> evaluations;  // After each epoch; empty unless asked for.
  double step_ms = 0.0;                 // Mean time of a step.

  const LanguageModel& model() const { return assembly.model; }
};

// The bits depend on the experiment alone, whatever `threads` is. Nothing if go_on said no. Throws Error like Trainer.
std::optional<TrainedModel> train_model(const Experiment& experiment, std::size_t threads, bool evaluate_epochs,
                                        const GoOn& go_on);

}  // namespace semfuse
