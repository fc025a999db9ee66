// A file that one process at a time can hold, with the number of that process in it.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace semfuse {

// The system frees the lock when the process ends, however it ends, so a file that a killed process left does not
// count.
class LockFile {
 public:
  // Makes the file if it is missing. Throws Error that names the process if another one holds it: "RUN: process 123 is
  // `activity`; ...", where RUN is the file's folder.
  LockFile(const std::filesystem::path& path, std::string_view activity);
  ~LockFile();  // Empties the file and frees it.
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  int file_ = -1;
};

}  // namespace semfuse
