#include "run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <utility>

#include "experiment/run_log.h"
#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

namespace {

constexpr const char* kActivity = "training in it";

fs::path lock_path(const fs::path& run) {
  return run / "lock";
}

[[noreturn]] void fail_creating(const fs::path& folder, const std::error_code& code) {
  const std::string reason = code ? code.message() : "it is in the way of another run";
  throw Error(fmt::format("{}: cannot create the folder: {}; choose another --out", folder.string(), reason));
}

}  // namespace

fs::path RunFolder::checked(const std::string& text) {
  fs::path path = text;
  if (!path.has_filename()) path = path.parent_path();  // "run/"
  if (path.empty()) throw Error("--out is empty; name a folder for the run");
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (fs::exists(status)) {
    throw Error(
        fmt::format("{}: is already there and a run is never overwritten; choose another --out, or go on with a run by "
                    "--resume",
                    path.string()));
  }
  if (status.type() != fs::file_type::not_found) {
    throw Error(fmt::format("{}: cannot be used: {}; choose another --out", path.string(), code.message()));
  }
  return path;
}

fs::path RunFolder::existing(const std::string& text) {
  fs::path path = text;
  if (!path.has_filename()) path = path.parent_path();
  if (path.empty()) throw Error("--resume is empty; name the folder of a run");
  std::error_code code;
  if (!fs::exists(path / "config.toml", code)) {
    throw Error(fmt::format("{}: is no run to resume, it has no config.toml; begin one with --out", path.string()));
  }
  if (!fs::exists(path / "checkpoints", code) && !fs::exists(path / "log.jsonl", code)) {
    throw Error(fmt::format("{}: holds a model but no training to resume; begin one with --out", path.string()));
  }
  return path;
}

RunFolder::RunFolder(fs::path path, const Experiment& experiment, const CheckpointSettings& settings,
                     const std::string& lexicon)
    : path_(std::move(path)) {
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path folder = path_.parent_path(); !folder.empty() && !fs::exists(folder, code);
       folder = folder.parent_path())
    missing.push_back(folder);
  try {
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      if (fs::create_directory(*folder, code)) created_.push_back(*folder);
      if (code) fail_creating(*folder, code);
    }
    create(experiment, settings, lexicon);
  } catch (...) {
    remove();
    throw;
  }
}

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  lock_ = std::make_unique<LockFile>(lock_path(path_), kActivity);
  remove_temporary_files(path_);
  remove_temporary_files(checkpoints_path());
}

// Under a temporary name first: a run that is there at all can always be resumed.
void RunFolder::create(const Experiment& experiment, const CheckpointSettings& settings, const std::string& lexicon) {
  fs::path temporary = path_;
  temporary += fmt::format("{}{}", kTemporaryMark, ::getpid());
  std::error_code code;
  if (!fs::create_directory(temporary, code)) fail_creating(path_, code);
  try {
    lock_ = std::make_unique<LockFile>(lock_path(temporary), kActivity);
    write_atomically(temporary / "config.toml", to_toml(experiment));
    if (!lexicon.empty()) write_atomically(temporary / "lexicon.tsv", lexicon);
    CheckpointStore(temporary / "checkpoints").save_settings(settings);
    if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
      // Not every file system knows this; someone may have made the folder since checked().
      if (errno != EINVAL && errno != ENOSYS) code.assign(errno, std::generic_category());
      if (!code && fs::exists(path_)) code = std::make_error_code(std::errc::file_exists);
      if (!code) fs::rename(temporary, path_, code);
      if (code == std::errc::file_exists) {
        throw Error(fmt::format("{}: is already there; choose another --out", path_.string()));
      }
      if (code) fail_creating(path_, code);
    }
  } catch (const Error& error) {
    fs::remove_all(temporary, code);
    std::string message = error.what();
    if (message.starts_with(temporary.string())) message.replace(0, temporary.string().size(), path_.string());
    throw Error(message);
  }
  created_.push_back(path_);
}

RunFolder::~RunFolder() {
  if (description_.empty()) remove();
}

void RunFolder::remove() const {
  std::error_code ignored;
  if (!created_.empty() && created_.back() == path_) {
    fs::remove_all(checkpoints_path(), ignored);
    for (const fs::path& file : {path_ / "config.toml", log_path(), lock_path(path_)}) fs::remove(file, ignored);
  }
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) fs::remove(*folder, ignored);
}

void RunFolder::save(const LanguageModel& model, const Experiment& experiment, std::string description) {
  save_checkpoint(model_path(), model, experiment);
  description_ = std::move(description);
}

void RunFolder::describe_model() {
  try {
    load_checkpoint(model_path());
  } catch (const Error&) {
    return;
  }
  description_ = "the initial model";
  try {
    for (const LoggedEvaluation& evaluation : parse_run_log(read_text(log_path()), "log").evaluations) {
      if (std::isfinite(evaluation.perplexity))
        description_ = fmt::format("the model after epoch {}", evaluation.epoch);
    }
  } catch (const Error&) {
    description_ = "a model from before it was stopped";
  }
}

std::string RunFolder::rewind_log(std::uint64_t step) const {
  std::error_code ignored;
  if (!fs::exists(log_path(), ignored)) return {};
  const std::string text = read_text(log_path());
  const std::string_view kept = log_until(text, step);
  if (kept.size() != text.size()) write_atomically(log_path(), kept);
  return std::string(kept);
}

bool RunFolder::is_gone() const {
  std::error_code code;
  return fs::status(path_, code).type() == fs::file_type::not_found;
}

std::string RunFolder::holds() const {
  if (is_gone()) return "its model is gone too";
  return description_.empty() ? "no model was saved" : fmt::format("{} holds {}", model_path().string(), description_);
}

std::string RunFolder::resume_command() const {
  std::string word = path_.string();
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";
  if (word.find_first_not_of(plain) == word.npos) return "semfuse train --resume " + word;
  for (std::size_t quote = word.find('\''); quote != word.npos; quote = word.find('\'', quote + 4)) {
    word.replace(quote, 1, "'\\''");
  }
  return fmt::format("semfuse train --resume '{}'", word);
}

RunLog::RunLog(const fs::path& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)),
      last_write_(std::chrono::steady_clock::now()) {
  if (file_ < 0)
    throw Error(fmt::format("{}: cannot write: {}", path_.string(), std::generic_category().message(errno)));
}

RunLog::~RunLog() {
  write();
  ::close(file_);
}

void RunLog::add(std::string_view line) {
  constexpr std::chrono::milliseconds kInterval(500);
  lines_ += line;
  lines_ += '\n';
  if (std::chrono::steady_clock::now() - last_write_ >= kInterval) flush();
}

void RunLog::flush() {
  if (!write())
    throw Error(fmt::format("{}: cannot write: {}", path_.string(), std::generic_category().message(errno)));
}

void RunLog::sync() {
  flush();
  if (::fsync(file_) != 0 && errno != EINVAL)
    throw Error(fmt::format("{}: cannot write: {}", path_.string(), std::generic_category().message(errno)));
}

bool RunLog::write() {
  last_write_ = std::chrono::steady_clock::now();
  while (!lines_.empty()) {
    const ssize_t count = ::write(file_, lines_.data(), lines_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    lines_.erase(0, static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace semfuse
