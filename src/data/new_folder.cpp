#include "data/new_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>

#include "io/file.h"
#include "semfuse/error.h"

namespace semfuse {

namespace fs = std::filesystem;

namespace {

// One at a time makes, names or removes folders of a cache: a folder without its lock looks abandoned. Where folders
// cannot be locked it does nothing.
class CacheTurn {
 public:
  explicit CacheTurn(const fs::path& cache) : folder_(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ >= 0) ::flock(folder_, LOCK_EX);
  }
  ~CacheTurn() {
    if (folder_ >= 0) ::close(folder_);
  }
  CacheTurn(const CacheTurn&) = delete;
  CacheTurn& operator=(const CacheTurn&) = delete;

 private:
  int folder_;
};

}  // namespace

NewFolder::NewFolder(const fs::path& target) : target_(target) {
  static std::atomic<unsigned> counter = 0;
  std::error_code code;
  fs::create_directories(target.parent_path(), code);
  const CacheTurn turn(target.parent_path());
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
  const CacheTurn turn(target_.parent_path());
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
  const CacheTurn turn(cache);
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
