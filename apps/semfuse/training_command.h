// What `train` and `adapt` share: a run from the command line, with progress, Ctrl-C and processes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.h"
#include "config/training_request.h"
#include "table_options.h"

namespace semfuse {

struct TrainingCommandOptions {
  std::string command;  // "train": what messages call it.
  TrainingRequest request;
  TableFlags table;
  std::optional<std::string> threads;
  std::optional<std::string> instruction_set;
  std::optional<std::string> out;
  std::optional<std::string> resume;
  std::optional<std::string> checkpoint_every;
  std::optional<std::string> keep;
  bool no_calibrate = false;
  bool quiet = false;
  bool json = false;
};

// --data and --val, with how the files are read; all of them.
std::vector<CommandOption*> add_data_options(CommandLine& app, TrainingCommandOptions& options);
// --out, --resume, which excludes all of `others`, checkpoints, calibration, threads and what is shown.
void add_run_options(CommandLine& app, TrainingCommandOptions& options, std::vector<CommandOption*> others);

// Trains to the end, or until it is stopped. Returns the exit code; throws Error.
int run_training(const TrainingCommandOptions& options);

}  // namespace semfuse
