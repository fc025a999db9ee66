// The folder that a training run writes: config.toml, log.jsonl, model.safetensors.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "semfuse/checkpoint.h"

namespace semfuse {

// A new folder. Until the first model is saved it is on trial: if the run ends before, the destructor removes it.
class RunFolder {
 public:
  // Throws Error if something is there already or the name is unusable; creates nothing.
  static std::filesystem::path checked(const std::string& path);

  // Creates the folder and writes config.toml. Throws Error, and then leaves nothing behind.
  RunFolder(std::filesystem::path path, const Experiment& experiment);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Replaces model.safetensors atomically. `description` completes "it holds ...": "the model after epoch 2". Throws
  // Error.
  void save(const LanguageModel& model, const Experiment& experiment, std::string description);

  std::filesystem::path model_path() const { return path_ / "model.safetensors"; }
  std::filesystem::path log_path() const { return path_ / "log.jsonl"; }

  // "RUN/model.safetensors holds the model after epoch 2".
  std::string holds() const;

 private:
  void remove() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // Folders, the outermost first.
  std::string description_;                     // Empty before the first save.
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

 private:
  bool write();

  std::filesystem::path path_;
  int file_;
  std::string lines_;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace semfuse
