// A folder of prepared data in the making.
#pragma once

#include <filesystem>
#include <memory>

#include "io/lock_file.h"

namespace semfuse {

// Gets its name when it is whole, and is gone if that never happens. Throws Error if it cannot be made.
class NewFolder {
 public:
  explicit NewFolder(const std::filesystem::path& target);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void give_name();

  // Removes what others left that were killed. Never throws.
  static void remove_abandoned(const std::filesystem::path& cache);

 private:
  static constexpr const char* kLock = "lock";

  std::filesystem::path target_;
  std::filesystem::path path_;
  std::unique_ptr<LockFile> lock_;
};

}  // namespace semfuse
