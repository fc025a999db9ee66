// The system calls that write files, as an interface: a test puts its own in between and makes any of them fail.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace semfuse {

// Each function is the system call of its name: -1 with errno set if it fails. As it stands it calls the system.
class FileLayer {
 public:
  FileLayer() = default;
  FileLayer(const FileLayer&) = delete;
  FileLayer& operator=(const FileLayer&) = delete;
  virtual ~FileLayer() = default;

  virtual int open(const std::filesystem::path& path, int flags, mode_t mode);
  virtual ssize_t write(int file, std::string_view text);  // May write less than all.
  virtual int fsync(int file);
  virtual int close(int file);
  virtual int rename(const std::filesystem::path& from, const std::filesystem::path& to);
  virtual int unlink(const std::filesystem::path& path);

  // The one that everything uses unless told otherwise.
  static FileLayer& system();
};

}  // namespace semfuse
