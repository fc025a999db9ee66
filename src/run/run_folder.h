// The folder that a training run writes: config.toml, log.jsonl, model.safetensors, checkpoints/, lock.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/lock_file.h"
#include "run/checkpoint_store.h"
#include "run/run_files.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

// A folder that this process alone writes to. Until the first model is saved a new one is on trial: if the run ends
// before, the destructor removes it.
class RunFolder {
 public:
  // The name of a run that is there, without a slash at its end. Throws Error if it is none.
  static std::filesystem::path existing(const std::filesystem::path& path);

  // Copies of files that the configuration names, by their names in the folder.
  using KeptFiles = std::map<std::string, std::string>;

  // Creates the folder, with its configuration, settings and what it keeps in it from the first moment; a folder that
  // is there and empty gets them, the configuration last. Throws Error, and then leaves nothing behind.
  RunFolder(std::filesystem::path path, const Experiment& experiment, const CheckpointSettings& settings,
            KeptFiles kept = {});

  // Takes an existing run over: throws Error that names the process if another one holds it. Removes what writes that
  // were cut off left behind.
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Replaces model.safetensors atomically. `description` completes "it holds ...": "the model after epoch 2". Throws
  // Error.
  void save(const LanguageModel& model, const Experiment& experiment, std::string description);

  // Of a run taken over: finds out from its log what its model.safetensors holds, if that is whole.
  void describe_model();
  bool has_model() const { return !description_.empty(); }

  // Cuts log.jsonl after the events of a step, so that what follows makes one log, and returns it. Throws Error.
  std::string rewind_log(std::uint64_t step) const;

  const RunFiles& files() const { return files_; }

  bool is_gone() const;  // Removed by someone else.

  // "RUN/model.safetensors holds the model after epoch 2".
  std::string holds() const;

 private:
  void create(const Experiment& experiment, const CheckpointSettings& settings);
  // Takes the lock. Throws Error if another process holds it or a run is there by now.
  void take(const RunFiles& files);
  // Writes what a run begins with.
  void fill(const RunFiles& files, const Experiment& experiment, const CheckpointSettings& settings) const;
  void remove() const;

  RunFiles files_;
  KeptFiles kept_;
  std::vector<std::filesystem::path> created_;  // Folders, the outermost first.
  bool on_trial_ = false;                       // The files are of this process: remove() may take them away.
  std::unique_ptr<LockFile> lock_;
  std::string description_;  // Empty before the first save.
};

}  // namespace semfuse
