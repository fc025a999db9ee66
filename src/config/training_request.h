// What a person asks a training for, and the experiment that comes of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/table_choice.h"
#include "semfuse/experiment.h"

namespace semfuse {

// What `semfuse train` is told on the command line, each by the name of its option. Messages say them so.
struct TrainingRequest {
  static constexpr const char* kDefaultPreset = "semfuse";

  std::optional<std::string> preset;
  std::optional<std::string> config;  // A TOML file; not with a preset.
  std::vector<std::string> settings;  // "KEY=VALUE"
  std::optional<std::string> seed;
  std::optional<std::string> held_out;
  std::optional<std::string> lexicon;
  std::vector<std::string> data;  // Files of texts.
  std::vector<std::string> val;
  std::optional<std::string> init;
  std::optional<std::string> backbone;  // An imported model that an adapter is trained for.
  std::optional<std::string> rank;
  TableChoice table;      // How the files are read.
  bool calibrate = true;  // Texts are kept apart for a judge of labels.

  // Told the share of the files that is read, now and then, where columns may become knobs; and what a person should
  // know. Each may be empty.
  std::function<void(double done)> on_columns = {};
  std::function<void(const std::string& note)> on_note = {};
};

// The preset that a request without a configuration begins with.
std::string preset_of(const TrainingRequest& request);

// Presets and files are read, columns become knobs, and what depends on the size of the files is fitted to it, unless
// the request says it. Throws Error for anything that does not fit together or cannot be read.
Experiment resolve(const TrainingRequest& request);

}  // namespace semfuse
