#include "study/study_folder.h"

#include <fmt/format.h>

#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kRuns = "runs";
constexpr const char* kLock = "lock";
constexpr const char* kKind = "study";

void create_folder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) throw Error(fmt::format("{}: cannot create the folder: {}", path.string(), code.message()));
}

// Whether open() began here and was cut off before it said what the study is.
bool is_cut_off(const fs::path& path) {
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      if (entry.path().filename() != kRuns) return false;
    }
    for (const fs::directory_entry& entry : fs::directory_iterator(path / kRuns)) {
      const std::string name = entry.path().filename().string();
      if (name != kLock && !name.starts_with(kKind)) return false;
    }
  } catch (const fs::filesystem_error&) {
    return false;
  }
  return true;
}

}  // namespace

StudyFolder::StudyFolder(const fs::path& path, std::string kind)
    : path_(path.has_filename() ? path : path.parent_path()), kind_(std::move(kind)) {
  if (path_.empty()) throw Error("--out is empty; name a folder");
  std::error_code ignored;
  if (!fs::exists(path_, ignored)) return;
  if (fs::exists(path_ / kRuns, ignored)) {
    if (!fs::exists(kind_path(), ignored) && is_cut_off(path_)) return;
    // Folders of old reproductions do not say what they are.
    const std::string found = fs::exists(kind_path(), ignored) ? read_text(kind_path()) : "reproduction\n";
    if (found == kind_ + '\n') return;
  } else if (fs::is_directory(path_, ignored) && fs::is_empty(path_, ignored)) {
    return;
  }
  throw Error(
      fmt::format("{}: is already there and is no {} to go on with; choose another --out", path_.string(), kind_));
}

std::optional<std::string> StudyFolder::finished(std::string_view name, const Experiment& experiment) const {
  std::error_code ignored;
  if (!fs::exists(metrics_path(name), ignored)) return std::nullopt;
  if (read_text(RunFiles{run_path(name)}.config()) != to_toml(experiment))
    throw Error(fmt::format("{}: was trained with other settings; choose another --out", run_path(name).string()));
  return read_text(metrics_path(name));
}

void StudyFolder::open() {
  create_folder(path_ / kRuns);
  lock_ = std::make_unique<LockFile>(path_ / kRuns / kLock, "working in it");
  write_atomically(kind_path(), kind_ + '\n');
}

fs::path StudyFolder::run_path(std::string_view name) const {
  return path_ / kRuns / name;
}

fs::path StudyFolder::kind_path() const {
  return path_ / kRuns / kKind;
}

fs::path StudyFolder::make_run(std::string_view name) const {
  create_folder(run_path(name));
  return run_path(name);
}

void StudyFolder::keep(std::string_view name, const Experiment& experiment, std::string_view metrics) const {
  const fs::path folder = make_run(name);
  write_atomically(RunFiles{folder}.config(), to_toml(experiment));
  write_atomically(metrics_path(name), metrics);
}

}  // namespace semfuse
