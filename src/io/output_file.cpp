#include "io/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

void require_writable(const fs::path& path) {
  if (path.empty()) throw Error("the file to write has an empty name; name one");
  std::error_code code;
  if (!path.has_filename() || fs::is_directory(path, code)) {
    throw Error(fmt::format("{}: is a directory; name a file", path.string()));
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const fs::file_status status = fs::status(folder, code);
  if (status.type() == fs::file_type::not_found) {
    throw Error(fmt::format("{}: cannot write: there is no folder {}; make it or name another", path.string(),
                            folder.string()));
  }
  if (fs::exists(status) && !fs::is_directory(status)) {
    throw Error(fmt::format("{}: cannot write: {} is no folder; name another file", path.string(), folder.string()));
  }
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return;
  throw Error(fmt::format("{}: cannot write: {}: {}; name another file", path.string(), folder.string(),
                          std::generic_category().message(errno)));
}

void require_new_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(path, ignored)) && path.has_filename()) {
    throw Error(
        fmt::format("{}: is already there and is not overwritten; remove it or choose another name", path.string()));
  }
  require_writable(path);
}

void require_own_file(const fs::path& path, std::initializer_list<std::string_view> beginnings, std::string_view what) {
  require_writable(path);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;  // Nothing, or what no file is written over.
  std::size_t longest = 0;
  for (const std::string_view beginning : beginnings) longest = std::max(longest, beginning.size());
  std::string found(longest, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(found.data(), static_cast<std::streamsize>(longest));
  found.resize(static_cast<std::size_t>(file.gcount()));
  const auto begins_it = [&](std::string_view beginning) { return found.starts_with(beginning); };
  if (std::any_of(beginnings.begin(), beginnings.end(), begins_it)) return;
  throw Error(fmt::format("{}: is already there, is not {} and is not overwritten; remove it or choose another name",
                          path.string(), what));
}

}  // namespace semfuse
