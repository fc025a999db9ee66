// The folder of a study: every finished run is kept there with its configuration, so that the study can go on.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/lock_file.h"
#include "run/run_files.h"
#include "semfuse/experiment.h"

namespace semfuse {

// FOLDER/runs/study names the kind, FOLDER/runs/NAME has config.toml and metrics.json, the metrics written last: a run
// without them is begun anew. One process at a time holds the folder.
class StudyFolder {
 public:
  // A folder that is missing, empty or of a study of this kind ("ablation"); creates nothing. Throws Error for one with
  // something else in it.
  StudyFolder(const std::filesystem::path& path, std::string kind);

  // The metrics.json of a run that an earlier call finished; nothing if there is none. Throws Error if it was another
  // experiment.
  std::optional<std::string> finished(std::string_view name, const Experiment& experiment) const;
  std::filesystem::path metrics_path(std::string_view name) const { return RunFiles{run_path(name)}.metrics(); }

  // Makes the folder if it is missing and takes it: throws Error if it cannot, or if another process works in it.
  void open();

  // The folder of a run, made if it is missing. Throws Error.
  std::filesystem::path make_run(std::string_view name) const;
  void keep(std::string_view name, const Experiment& experiment, std::string_view metrics) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path run_path(std::string_view name) const;
  std::filesystem::path kind_path() const;

  std::filesystem::path path_;
  std::string kind_;
  std::unique_ptr<LockFile> lock_;
};

}  // namespace semfuse
