#include "io/output_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

fs::path OutputFolder::checked(const fs::path& wanted) {
  fs::path path = wanted.has_filename() ? wanted : wanted.parent_path();  // "run/"
  if (path.empty()) throw Error("the folder has no name; name one");
  std::error_code code;
  const fs::file_status status = fs::symlink_status(path, code);
  if (fs::is_directory(status) && fs::is_empty(path, code) && !code) return path;
  if (fs::exists(status)) {
    throw Error(fmt::format("{}: is already there{} and is never overwritten; choose another --out, or an empty folder",
                            path.string(), fs::is_directory(status) ? ", not empty," : ""));
  }
  if (status.type() != fs::file_type::not_found) {
    throw Error(fmt::format("{}: cannot be used: {}; choose another --out", path.string(), code.message()));
  }
  return path;
}

OutputFolder::OutputFolder(const fs::path& wanted) : path_(checked(wanted)) {
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path folder = path_; !folder.empty() && !fs::exists(folder, code); folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (fs::create_directory(*folder, code)) made_.push_back(*folder);
    if (!code) continue;
    remove_empty();
    throw Error(
        fmt::format("{}: cannot create the folder: {}; choose another --out", folder->string(), code.message()));
  }
}

OutputFolder::~OutputFolder() {
  remove_empty();
}

void OutputFolder::remove_empty() {
  std::error_code ignored;  // A folder that holds something stays, and so do those above it.
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) fs::remove(*folder, ignored);
}

}  // namespace semfuse
