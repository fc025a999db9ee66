#include "io/append_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  throw Error(fmt::format("{}: cannot write: {}; free some space, or write to a folder on another disk", path.string(),
                          std::strerror(code)));
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path, FileLayer& files)
    : path_(std::move(path)), files_(files), file_(files.open(path_, O_WRONLY | O_CREAT | O_EXCL, 0666)) {
  if (file_ < 0) fail(path_, errno);
}

AppendFile::~AppendFile() {
  if (file_ >= 0) files_.close(file_);
}

void AppendFile::append(std::span<const std::byte> bytes) {
  block_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  size_ += bytes.size();
  if (block_.size() >= kBlockBytes) write_block();
}

void AppendFile::write_block() {
  std::string_view rest = block_;
  while (!rest.empty()) {
    const ssize_t count = files_.write(file_, rest);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(path_, count < 0 ? errno : EIO);
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  block_.clear();
}

void AppendFile::finish() {
  write_block();
  // Some file systems cannot flush and say EINVAL; there is nothing more to do for them.
  if (files_.fsync(file_) != 0 && errno != EINVAL) fail(path_, errno);
  if (files_.close(std::exchange(file_, -1)) != 0) fail(path_, errno);
}

}  // namespace semfuse
