// Saves the checkpoints of a run while it trains, and finds the one to go on from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/run_folder.h"
#include "run/run_log_writer.h"
#include "semfuse/trainer.h"

namespace semfuse {

class Checkpoints {
 public:
  // All of them must outlive this.
  Checkpoints(const RunFolder& folder, const CheckpointSettings& settings, const Experiment& experiment,
              LanguageModel& model, Trainer& trainer);

  // Brings model and trainer to the newest whole checkpoint, or leaves them at step 0 if there is none; returns a
  // sentence on where that is. What was found damaged is added to `damaged`, in a sentence each. Throws Error if the
  // checkpoint belongs to another configuration.
  std::string resume(std::vector<std::string>& damaged);

  // Saves if it is time to: at each multiple of the interval and at the end. A failure is a warning, which it returns,
  // and the next checkpoint a new attempt; only if the run's folder is gone it throws Error.
  std::optional<std::string> after_step(RunLogWriter& log);

  // Saves now, unless this step is saved already. Returns what went wrong, or nothing.
  std::optional<std::string> save(RunLogWriter& log);

  std::uint64_t saved_step() const { return saved_step_; }  // Of the newest checkpoint; 0 if there is none.

 private:
  const RunFolder& folder_;
  CheckpointSettings settings_;
  const Experiment& experiment_;
  LanguageModel& model_;
  Trainer& trainer_;
  CheckpointStore store_;
  std::uint64_t saved_step_ = 0;
};

// Whether the run in this folder has made all its steps, as its last checkpoint or, without one, its log and its model
// say; `model` is then the trained one. Writes nothing to the folder. Throws Error if its last checkpoint belongs to
// another experiment.
bool is_finished(const RunFiles& run, const Experiment& experiment, LanguageModel& model, Trainer& trainer);

}  // namespace semfuse
