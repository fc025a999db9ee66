// The folder that a training run writes: config.toml, log.jsonl, model.safetensors, checkpoints/, lock.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/checkpoint_store.h"
#include "io/lock_file.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

// A folder that this process alone writes to. Until the first model is saved a new one is on trial: if the run ends
// before, the destructor removes it.
class RunFolder {
 public:
  // A name for a new folder. Throws Error if something is there already or the name is unusable; creates nothing.
  static std::filesystem::path checked(const std::string& path);

  // The name of a run that is there. Throws Error if it is none.
  static std::filesystem::path existing(const std::string& path);

  // Creates the folder, with its configuration, settings and lexicon.tsv (if `lexicon` is a text of its own) in it from
  // the first moment. Throws Error, and then leaves nothing behind.
  RunFolder(std::filesystem::path path, const Experiment& experiment, const CheckpointSettings& settings,
            const std::string& lexicon = {});

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

  std::filesystem::path model_path() const { return path_ / "model.safetensors"; }
  std::filesystem::path log_path() const { return path_ / "log.jsonl"; }
  static std::filesystem::path lexicon_path(const std::filesystem::path& run) { return run / "lexicon.tsv"; }
  std::filesystem::path checkpoints_path() const { return path_ / "checkpoints"; }

  bool is_gone() const;  // Removed by someone else.

  // "RUN/model.safetensors holds the model after epoch 2".
  std::string holds() const;

  // "semfuse train --resume RUN", to be typed into a shell.
  std::string resume_command() const;

 private:
  void create(const Experiment& experiment, const CheckpointSettings& settings, const std::string& lexicon);
  void remove() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // Folders, the outermost first.
  std::unique_ptr<LockFile> lock_;
  std::string description_;  // Empty before the first save.
};

// Lines gathered in memory and appended to a file twice a second, so that no step waits for the disk.
class RunLog {
 public:
  // Throws Error.
  explicit RunLog(const std::filesystem::path& path);
  ~RunLog();  // Writes what is left, as far as it goes.
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Throws Error if it is time to write and the file takes no more; so does flush().
  void add(std::string_view line);
  void flush();

  // flush(), and waits until the disk has it.
  void sync();

 private:
  bool write();

  std::filesystem::path path_;
  int file_;
  std::string lines_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace semfuse
