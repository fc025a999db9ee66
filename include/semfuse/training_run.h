// Trains a model in a folder of its own: saves as it goes, says what happens, and goes on after it was stopped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "semfuse/assembly.h"
#include "semfuse/evaluation.h"
#include "semfuse/experiment.h"

namespace semfuse {

struct TrainingRunOptions {
  std::size_t threads = 0;  // 0: one for each processor. The result is the same for any number.

  // Steps from one checkpoint to the next, above 0. Lower it if steps are slow and stops are frequent: at most so many
  // are lost. Without a value: 200, or what the run that is resumed has had; so is `keep`.
  std::optional<std::uint64_t> checkpoint_every;
  std::optional<std::uint64_t> keep;  // Newest checkpoints that stay, above 0 (3). Each is three times the model.

  // Whether the program calibrates knobs of labels when the run is finished: the folder remembers it for a run that is
  // resumed. Without a value: yes, or what the run has had.
  std::optional<bool> calibrate;

  DataProgress on_data;  // Told while files are prepared.

  // Of processes that train together: each makes the same run with the same options, and only rank 0 writes to the
  // folder and is told of evaluations and warnings. They compare data, configuration, program and instruction set
  // before the first step. A process that is asked to stop stops all of them. Null: this process alone.
  std::shared_ptr<Exchange> exchange;
};

// What happens in a run, in this order: started, then steps; after the last step of an epoch its evaluation; warnings
// at any time.
struct RunStarted {
  std::uint64_t first_step = 0;  // Steps that are done already.
  std::uint64_t total_steps = 0;
  std::size_t total_epochs = 0;
  std::string resumed;  // Of a resumed run, where it goes on: "it goes on from step 3 of 8 (...)".
};
struct RunStep {
  StepReport report;
  double seconds = 0.0;
};
struct RunEvaluation {
  StepReport report;  // Of the epoch's last step.
  Evaluation evaluation;
  bool finite = true;  // If not, the model is not saved; the one of an epoch before stays.
};
struct RunWarning {
  std::string text;  // What went wrong without ending the run: a checkpoint could not be written, the log has a hole.
};
using RunEvent = std::variant<RunStarted, RunStep, RunEvaluation, RunWarning>;

// False asks the run to stop: it saves a checkpoint after the step that it is in.
using RunCallback = std::function<bool(const RunEvent&)>;

struct LoggedEvaluation {
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::string attention;
  double perplexity = 0.0;  // NaN if the log says null; so are the next two.
  double seen_only_perplexity = 0.0;
  double feature_mse = 0.0;
};

// Where a run stands when run() returns.
struct RunOutcome {
  bool finished = false;         // False: it was asked to stop.
  std::uint64_t first_step = 0;  // Steps that were done before run() was called.
  std::uint64_t steps = 0;
  std::uint64_t skipped = 0;  // Of these, how many were left out, since loss or gradient was not finite.
  std::uint64_t tokens = 0;
  double tokens_per_second = 0.0;  // Of this call's steps, without evaluations.
  std::size_t processes = 1;
  double waiting_share = 0.0;                 // Of the time of these steps, how much this process waited for others.
  std::vector<LoggedEvaluation> evaluations;  // Of the whole run.
  std::string model;                          // "RUN/model.safetensors holds the model after epoch 2".

  // Of a stopped run: the step that resuming begins at, and why it is not the last one; empty if it is.
  std::uint64_t saved_step = 0;
  std::string not_saved;
};

// One run from its first step, or the one it was stopped at, to the last. A run that is stopped and resumed, even by a
// kill, ends with the same model, bit by bit, as one that is not. Not to be shared between threads.
class TrainingRun {
 public:
  // A new run. `folder` must be empty or not there yet; then run() makes it. Throws Error if something is there, or if
  // the experiment does not fit together.
  TrainingRun(const Experiment& experiment, const std::filesystem::path& folder,
              const TrainingRunOptions& options = {});

  // A run that is there, with the configuration in its folder. Throws Error if it is none.
  static TrainingRun resume(const std::filesystem::path& folder, const TrainingRunOptions& options = {});

  TrainingRun(TrainingRun&&) noexcept;
  ~TrainingRun();

  const std::filesystem::path& folder() const;
  std::filesystem::path model_path() const;
  const Experiment& experiment() const;
  const LanguageModel& model() const;  // As trained so far.
  std::uint64_t total_steps() const;
  std::size_t num_texts() const;  // That an epoch has: sentences, texts, or parts of texts.
  const ExperimentData& data() const;

  // Whether a resumed run has made all its steps already: then there is nothing to run.
  bool finished() const;

  // Whether the knobs of labels are to be calibrated when it is finished, as its options or its folder say.
  bool calibrates() const;

  // Whether this process is the one that writes; always so if it is alone.
  bool writes() const;

  // Trains until the run is finished or the callback says false; called once. While it works, no other process can
  // run in the folder. Throws Error that says what the folder holds if training or the folder fails; the checkpoints up
  // to then stay.
  RunOutcome run(const RunCallback& on_event = {});

 private:
  struct State;
  explicit TrainingRun(std::unique_ptr<State> state);
  static std::unique_ptr<State> new_state(const Experiment& experiment, const std::filesystem::path& folder,
                                          const TrainingRunOptions& options);
  std::unique_ptr<State> state_;
};

}  // namespace semfuse
