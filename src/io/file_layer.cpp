#include "io/file_layer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace semfuse {

int FileLayer::open(const std::filesystem::path& path, int flags, mode_t mode) {
  return ::open(path.c_str(), flags | O_CLOEXEC, mode);
}

ssize_t FileLayer::write(int file, std::string_view text) {
  return ::write(file, text.data(), text.size());
}

int FileLayer::fsync(int file) {
  return ::fsync(file);
}

int FileLayer::close(int file) {
  return ::close(file);
}

int FileLayer::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return ::rename(from.c_str(), to.c_str());
}

int FileLayer::unlink(const std::filesystem::path& path) {
  return ::unlink(path.c_str());
}

FileLayer& FileLayer::system() {
  static FileLayer layer;
  return layer;
}

}  // namespace semfuse
