#include "io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

std::string advice(int code) {
  switch (code) {
    case ENOENT:
      return "check the path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "check its permissions";
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space or write elsewhere";
    case ENAMETOOLONG:
      return "choose a shorter name";
    default:
      return "check the path and the disk";
  }
}

[[noreturn]] void fail(const fs::path& path, std::string_view verb, int code) {
  const std::string reason = std::generic_category().message(code);
  throw Error(fmt::format("{}: cannot {}: {}; {}", path.string(), verb, reason, advice(code)));
}

// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor(FileLayer& files, int number) : files_(files), number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) files_.close(number_);
  }
  int number() const { return number_; }
  // Closes now, so that a delayed write error is seen; false with errno set on failure.
  bool close() { return files_.close(std::exchange(number_, -1)) == 0; }

 private:
  FileLayer& files_;
  int number_;
};

// Removes a file when it goes out of scope, unless it was released.
class TemporaryFile {
 public:
  TemporaryFile(FileLayer& files, fs::path path) : files_(files), path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) files_.unlink(path_);
  }
  void release() { path_.clear(); }

 private:
  FileLayer& files_;
  fs::path path_;
};

int open_retrying(FileLayer& files, const fs::path& path, int flags, mode_t mode = 0) {
  int number;
  do {
    number = files.open(path, flags, mode);
  } while (number < 0 && errno == EINTR);
  return number;
}

template <typename Container>
Container read_all(const fs::path& path, std::size_t max_size) {
  FileLayer& files = FileLayer::system();
  const Descriptor file(files, open_retrying(files, path, O_RDONLY));
  if (file.number() < 0) fail(path, "open", errno);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) fail(path, "read", errno);
  if (S_ISDIR(status.st_mode)) throw Error(path.string() + ": is a directory; name a file");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw Error(path.string() + ": is not a file; name a regular file or a pipe");
  }
  // The size is only a first guess: a pipe has none, and a file may change while it is read.
  constexpr std::size_t kSmallest = 4096;
  const auto declared = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
  Container bytes;
  std::size_t size = 0;
  while (true) {
    if (size > max_size || declared > max_size) {
      throw Error(fmt::format("{}: larger than {} bytes; name a smaller file", path.string(), max_size));
    }
    if (size == bytes.size()) bytes.resize(size == 0 ? std::max(declared + 1, kSmallest) : size + size / 2);
    const ssize_t count = ::read(file.number(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "read", errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

void write_all(FileLayer& files, const fs::path& path, const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = files.write(file.number(), text);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, "write", errno);
    if (count == 0) fail(path, "write", EIO);
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// Not mkstemp: its files are private to the user, while a model should have the usual permissions.
std::pair<fs::path, int> create_temporary_beside(FileLayer& files, const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  while (true) {
    fs::path temporary = path;
    temporary += fmt::format("{}{}-{}", kTemporaryMark, ::getpid(), counter++);
    const int number = open_retrying(files, temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (number >= 0) return {std::move(temporary), number};
    if (errno != EEXIST) fail(path, "write", errno);
  }
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code code;
  const bool found = fs::exists(path, code);
  if (code) fail(path, "open", code.value());
  return found;
}

std::vector<std::byte> read_bytes(const fs::path& path, std::size_t max_size) {
  return read_all<std::vector<std::byte>>(path, max_size);
}

std::string read_text(const fs::path& path, std::size_t max_size) {
  return read_all<std::string>(path, max_size);
}

void write_atomically_by(const fs::path& path, const std::function<void(const ByteSink&)>& produce, FileLayer& files) {
  // A rename would replace a device or fail on a folder only after all the writing.
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) throw Error(path.string() + ": is a directory; name a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(path.string() + ": is not a regular file; name another");
  }
  auto [temporary_path, number] = create_temporary_beside(files, path);
  TemporaryFile temporary(files, temporary_path);
  Descriptor file(files, number);
  produce([&](std::string_view piece) { write_all(files, path, file, piece); });
  // Some file systems cannot flush and say EINVAL; there is nothing more to do for them.
  if (files.fsync(file.number()) != 0 && errno != EINVAL) fail(path, "write", errno);
  if (!file.close()) fail(path, "write", errno);
  if (files.rename(temporary_path, path) != 0) fail(path, "write", errno);
  temporary.release();
  // The new name is durable once its folder is flushed. A folder that may be written but not read cannot be.
  const Descriptor folder(
      files, open_retrying(files, path.has_parent_path() ? path.parent_path() : ".", O_RDONLY | O_DIRECTORY));
  if (folder.number() < 0 && errno == EACCES) return;
  if (folder.number() < 0 || (files.fsync(folder.number()) != 0 && errno != EINVAL)) {
    fail(path, "be sure that the file stays after a power cut", errno);
  }
}

void write_atomically(const fs::path& path, std::span<const std::string_view> pieces, FileLayer& files) {
  const auto produce = [&](const ByteSink& sink) {
    for (const std::string_view piece : pieces) sink(piece);
  };
  write_atomically_by(path, produce, files);
}

void write_atomically(const fs::path& path, std::string_view text, FileLayer& files) {
  write_atomically(path, std::span(&text, 1), files);
}

}  // namespace semfuse
