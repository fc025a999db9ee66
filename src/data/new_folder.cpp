#include "data/new_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>

#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

NewFolder::NewFolder(const fs::path& target) : target_(target) {
  static std::atomic<unsigned> counter = 0;
  std::error_code code;
  fs::create_directories(target.parent_path(), code);
  path_ = target;
  path_ += fmt::format("{}{}-{}", kTemporaryMark, ::getpid(), counter++);
  if (!fs::create_directory(path_, code) || code) {
    throw Error(fmt::format("{}: cannot make the folder: {}; set SEMFUSE_CACHE to a folder that can be written",
                            path_.string(), code ? code.message() : "something of that name is there"));
  }
  // Whoever can take the lock knows that nobody works here any more.
  try {
    lock_ = std::make_unique<LockFile>(path_ / kLock, "preparing data");
  } catch (const Error&) {
    fs::remove_all(path_, code);
    throw;
  }
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  lock_.reset();
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void NewFolder::give_name() {
  std::error_code code;
  lock_.reset();
  fs::remove(path_ / kLock, code);
  fs::rename(path_, target_, code);
  // Another process was quicker: what it made is the same.
  if (code && fs::is_directory(target_)) return;
  if (code) throw Error(fmt::format("{}: cannot give it its name: {}", target_.string(), code.message()));
  path_.clear();
}

void NewFolder::remove_abandoned(const fs::path& cache) {
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, code)) {
    if (entry.path().filename().string().find(kTemporaryMark) == std::string::npos) continue;
    try {
      { const LockFile lock(entry.path() / kLock, "removing data"); }
      fs::remove_all(entry.path(), code);
    } catch (const Error&) {  // Somebody works there.
    }
  }
}

}  // namespace semfuse
