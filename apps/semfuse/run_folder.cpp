#include "run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

fs::path RunFolder::checked(const std::string& text) {
  fs::path path = text;
  if (!path.has_filename()) path = path.parent_path();  // "run/"
  if (path.empty()) throw Error("--out is empty; name a folder for the run");
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (fs::exists(status)) {
    throw Error(
        fmt::format("{}: is already there and a run is never overwritten; choose another --out", path.string()));
  }
  if (status.type() != fs::file_type::not_found) {
    throw Error(fmt::format("{}: cannot be used: {}; choose another --out", path.string(), code.message()));
  }
  return path;
}

RunFolder::RunFolder(fs::path path, const Experiment& experiment) : path_(std::move(path)) {
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path folder = path_; !folder.empty() && !fs::exists(folder, code); folder = folder.parent_path())
    missing.push_back(folder);
  try {
    for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
      if (fs::create_directory(*folder, code)) created_.push_back(*folder);
      if (code)
        throw Error(
            fmt::format("{}: cannot create the folder: {}; choose another --out", folder->string(), code.message()));
    }
    // Someone else may have made it since checked().
    if (created_.empty() || created_.back() != path_)
      throw Error(fmt::format("{}: is already there; choose another --out", path_.string()));
    write_atomically(path_ / "config.toml", to_toml(experiment));
  } catch (...) {
    remove();
    throw;
  }
}

RunFolder::~RunFolder() {
  if (description_.empty()) remove();
}

void RunFolder::remove() const {
  std::error_code ignored;
  if (!created_.empty() && created_.back() == path_) {
    fs::remove(path_ / "config.toml", ignored);
    fs::remove(log_path(), ignored);
  }
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) fs::remove(*folder, ignored);
}

void RunFolder::save(const LanguageModel& model, const Experiment& experiment, std::string description) {
  save_checkpoint(model_path(), model, experiment);
  description_ = std::move(description);
}

std::string RunFolder::holds() const {
  return description_.empty() ? "no model was saved" : fmt::format("{} holds {}", model_path().string(), description_);
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
