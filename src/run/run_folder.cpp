#include "run/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <utility>

#include "io/file.h"
#include "run/run_log.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kActivity = "training in it";

[[noreturn]] void fail_creating(const fs::path& folder, const std::error_code& code) {
  const std::string reason = code ? code.message() : "it is in the way of another run";
  throw Error(fmt::format("{}: cannot create the folder: {}; choose another --out", folder.string(), reason));
}

}  // namespace

fs::path RunFolder::existing(const fs::path& wanted) {
  const RunFiles run{wanted.has_filename() ? wanted : wanted.parent_path()};
  if (run.folder.empty()) throw Error("the folder has no name; name that of a run");
  if (!is_there(run.config())) {
    throw Error(fmt::format("{}: is no run to resume, it has no config.toml; begin one with --out", wanted.string()));
  }
  if (!is_there(run.checkpoints()) && !is_there(run.log())) {
    throw Error(fmt::format("{}: holds a model but no training to resume; begin one with --out", wanted.string()));
  }
  return run.folder;
}

RunFolder::RunFolder(fs::path path, const Experiment& experiment, const CheckpointSettings& settings, KeptFiles kept)
    : files_{std::move(path)}, kept_(std::move(kept)) {
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path folder = files_.folder.parent_path(); !folder.empty() && !fs::exists(folder, code);
       folder = folder.parent_path())
    missing.push_back(folder);
  try {
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      if (fs::create_directory(*folder, code)) created_.push_back(*folder);
      if (code) fail_creating(*folder, code);
    }
    if (fs::is_directory(files_.folder, code)) {
      take(files_);
      on_trial_ = true;
      fill(files_, experiment, settings);
    } else {
      create(experiment, settings);
    }
  } catch (...) {
    remove();
    throw;
  }
}

RunFolder::RunFolder(fs::path path) : files_{std::move(path)} {
  lock_ = std::make_unique<LockFile>(files_.lock(), kActivity);
  remove_temporary_files(files_.folder);
  remove_temporary_files(files_.checkpoints());
}

// Another process may have been quicker; its run is not ours to fill or remove.
void RunFolder::take(const RunFiles& files) {
  lock_ = std::make_unique<LockFile>(files.lock(), kActivity);
  std::error_code ignored;
  if (!fs::exists(files.config(), ignored)) return;
  throw Error(fmt::format("{}: is already there; choose another --out", files_.folder.string()));
}

void RunFolder::fill(const RunFiles& files, const Experiment& experiment, const CheckpointSettings& settings) const {
  for (const auto& [name, bytes] : kept_) write_atomically(files.folder / name, bytes);
  CheckpointStore(files.checkpoints()).save_settings(settings);
  write_atomically(files.config(), to_toml(experiment));
}

// Under a temporary name first: a run that is there at all can always be resumed.
void RunFolder::create(const Experiment& experiment, const CheckpointSettings& settings) {
  fs::path temporary = files_.folder;
  temporary += fmt::format("{}{}", kTemporaryMark, ::getpid());
  std::error_code code;
  if (!fs::create_directory(temporary, code)) fail_creating(files_.folder, code);
  try {
    take(RunFiles{temporary});
    fill(RunFiles{temporary}, experiment, settings);
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, files_.folder.c_str(), RENAME_NOREPLACE) != 0) {
      // Not every file system knows this; someone may have made the folder since it was looked for.
      if (errno != EINVAL && errno != ENOSYS) code.assign(errno, std::generic_category());
      if (!code && fs::exists(files_.folder)) code = std::make_error_code(std::errc::file_exists);
      if (!code) fs::rename(temporary, files_.folder, code);
      if (code == std::errc::file_exists) {
        throw Error(fmt::format("{}: is already there; choose another --out", files_.folder.string()));
      }
      if (code) fail_creating(files_.folder, code);
    }
  } catch (const Error& error) {
    fs::remove_all(temporary, code);
    std::string message = error.what();
    if (message.starts_with(temporary.string())) message.replace(0, temporary.string().size(), files_.folder.string());
    throw Error(message);
  }
  created_.push_back(files_.folder);
  on_trial_ = true;
}

RunFolder::~RunFolder() {
  if (description_.empty()) remove();
}

void RunFolder::remove() const {
  std::error_code ignored;
  if (on_trial_) {
    fs::remove_all(files_.checkpoints(), ignored);
    for (const auto& [name, bytes] : kept_) fs::remove(files_.folder / name, ignored);
    for (const fs::path& file : {files_.config(), files_.log(), files_.lock()}) fs::remove(file, ignored);
  }
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) fs::remove(*folder, ignored);
}

void RunFolder::save(const LanguageModel& model, const Experiment& experiment, std::string description) {
  save_checkpoint(files_.model(), model, experiment);
  description_ = std::move(description);
}

void RunFolder::describe_model() {
  try {
    load_checkpoint(files_.model());
  } catch (const Error&) {
    return;
  }
  description_ = "the initial model";
  try {
    for (const LoggedEvaluation& evaluation : parse_run_log(read_text(files_.log()), "log").evaluations) {
      if (std::isfinite(evaluation.perplexity))
        description_ = fmt::format("the model after epoch {}", evaluation.epoch);
    }
  } catch (const Error&) {
    description_ = "a model from before it was stopped";
  }
}

std::string RunFolder::rewind_log(std::uint64_t step) const {
  std::error_code ignored;
  if (!fs::exists(files_.log(), ignored)) return {};
  const std::string text = read_text(files_.log());
  const std::string_view kept = log_until(text, step);
  if (kept.size() != text.size()) write_atomically(files_.log(), kept);
  return std::string(kept);
}

bool RunFolder::is_gone() const {
  std::error_code code;
  return fs::status(files_.folder, code).type() == fs::file_type::not_found;
}

std::string RunFolder::holds() const {
  if (is_gone()) return "its model is gone too";
  return description_.empty() ? "no model was saved"
                              : fmt::format("{} holds {}", files_.model().string(), description_);
}

}  // namespace semfuse
