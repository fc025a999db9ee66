// What a training run shows while it runs and when it ends.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "io/json_writer.h"
#include "progress.h"
#include "semfuse/training_run.h"
#include "terminal.h"

namespace semfuse {

struct RunViewOptions {
  std::string origin;       // What the experiment is from: a preset or a file.
  std::size_t threads = 1;  // Of each process.
  std::size_t processes = 1;
  bool quiet = false;      // Warnings are shown all the same.
  bool to_stderr = false;  // Standard output is for something else.
};

class RunView {
 public:
  // `run` must outlive the view.
  RunView(const TrainingRun& run, RunViewOptions options);

  void show(const RunEvent& event);
  void clear();  // Removes the line that is kept up to date.

  // Of a run that is finished. Throws Error if its last validation is not finite, or if the output took no more.
  void finish(const RunOutcome& outcome);

  double seconds() const;  // Since the view was made.

 private:
  void show_event(const RunStarted& event);
  void show_event(const RunStep& event);
  void show_event(const RunEvaluation& event);
  void show_event(const RunWarning& event);
  std::string heading() const;

  const TrainingRun& run_;
  RunViewOptions options_;
  Terminal terminal_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<Progress> progress_;  // Nothing before the run has started.
  std::size_t epochs_ = 0;
};

// What `train --json` prints of a run that is finished.
Json outcome_json(const TrainingRun& run, const RunOutcome& outcome, double seconds, std::size_t threads);

}  // namespace semfuse
