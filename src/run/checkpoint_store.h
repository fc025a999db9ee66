// The training checkpoints of one run: a folder of files step-<step>.safetensors, of which the newest are kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "run/training_checkpoint.h"

namespace semfuse {

// How often checkpoints are written and how many are kept, and what comes after the last; stored beside them as
// settings.json.
struct CheckpointSettings {
  std::uint64_t every = 200;  // Steps from one to the next; above 0.
  std::uint64_t keep = 3;     // Newest checkpoints that are kept; above 0.
  bool calibrate = true;      // Whether knobs of labels are calibrated when the training is done.
  bool operator==(const CheckpointSettings&) const = default;
};

// Reads settings.json. Throws Error if the text is something else.
CheckpointSettings parse_checkpoint_settings(std::string_view text, const std::string& origin);

class CheckpointStore {
 public:
  struct Entry {
    std::uint64_t step = 0;
    std::filesystem::path path;
  };
  // A file that could not be used, and why.
  struct Damage {
    std::filesystem::path path;
    std::string reason;
  };
  // What a run can go on from.
  struct Found {
    std::optional<TrainingCheckpoint> checkpoint;  // Nothing if there is no whole one.
    std::filesystem::path path;                    // Of the checkpoint.
    std::vector<Damage> damaged;                   // Newer ones that are not whole.
  };

  // Touches nothing. `files` must outlive the store.
  explicit CheckpointStore(std::filesystem::path folder, FileLayer& files = FileLayer::system());

  // The newest first; files of other names are not listed. Empty if there is no folder.
  std::vector<Entry> list() const;

  // Makes the folder if it is missing, writes the checkpoint atomically, and only then removes those before the newest
  // `keep`. Throws Error that names the file; every older checkpoint is then as it was.
  std::filesystem::path save(const LanguageModel& model, const TrainingState& state, const Experiment& experiment,
                             std::uint64_t keep);

  // The newest checkpoint that is whole. Reads only.
  Found find_newest() const;

  // Gives a damaged checkpoint another name, so that it neither counts nor is tried again, and removes what writes that
  // were cut off left behind. Only for the one process that holds the run.
  void set_aside(const std::vector<Damage>& damaged);
  void remove_temporary_files();

  // Throws Error if the settings are there but cannot be read; without a file they are the default ones.
  CheckpointSettings load_settings() const;
  void save_settings(const CheckpointSettings& settings);

  std::filesystem::path path_of(std::uint64_t step) const;

 private:
  std::filesystem::path folder_;
  FileLayer& files_;
};

// What writes of files in this folder that were cut off left behind; none if the folder cannot be read.
std::vector<std::filesystem::path> temporary_files(const std::filesystem::path& folder);

// Removes these. Never throws.
void remove_temporary_files(const std::filesystem::path& folder);

}  // namespace semfuse
