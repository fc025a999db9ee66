#include "io/lock_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "semfuse/error.h"

namespace semfuse {
namespace {

// The process that the file names; 0 if none.
pid_t holder_of(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  pid_t process = 0;
  if (size > 0) std::from_chars(text.data(), text.data() + size, process);
  return process > 0 ? process : 0;
}

bool is_alive(pid_t process) {
  return process != 0 && (::kill(process, 0) == 0 || errno == EPERM);
}

}  // namespace

LockFile::LockFile(const std::filesystem::path& path, std::string_view activity)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  const auto fail = [&](const std::string& message) {
    if (file_ >= 0) ::close(file_);
    throw Error(message);
  };
  if (file_ < 0) {
    fail(fmt::format("{}: cannot write: {}; check the folder and its permissions", path.string(),
                     std::generic_category().message(errno)));
  }
  bool held = false;
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    // A file system without locks leaves only the number to go by.
    held = errno == EWOULDBLOCK || (is_alive(holder_of(file_)) && holder_of(file_) != ::getpid());
  }
  if (held) {
    const pid_t holder = holder_of(file_);
    const std::string who = holder == 0 ? "another process" : fmt::format("process {}", holder);
    fail(fmt::format("{}: {} is {}; wait until it ends, or end it", path.parent_path().string(), who, activity));
  }
  const std::string text = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, text.data(), text.size(), 0) != std::ssize(text)) {
    fail(fmt::format("{}: cannot write: {}; free some space or write elsewhere", path.string(),
                     std::generic_category().message(errno)));
  }
}

LockFile::~LockFile() {
  [[maybe_unused]] const int ignored = ::ftruncate(file_, 0);
  ::close(file_);
}

}  // namespace semfuse
