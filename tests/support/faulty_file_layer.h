// A file layer that makes one call fail, to see what survives.
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <cstddef>
#include <limits>
#include <string>

#include "io/file_layer.h"

namespace semfuse {

// Counts the calls of writing (open, write, fsync, close, rename), and makes the one of a given number fail.
class FaultyFileLayer : public FileLayer {
 public:
  enum class Fault {
    error,        // The call fails and does nothing.
    short_write,  // A write takes half of its bytes, which is no error; other calls work.
    full_disk     // A write takes half of its bytes, and every write after it fails with the code.
  };

  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  void fail_at(std::size_t call, Fault fault, int code) {
    calls_ = 0;
    failing_call_ = call;
    fault_ = fault;
    code_ = code;
    last_failed_.clear();
  }
  std::size_t calls() const { return calls_; }
  const std::string& last_failed() const { return last_failed_; }  // The name of the call that was made to fail.

  int open(const std::filesystem::path& path, int flags, mode_t mode) override {
    return fails("open") ? -1 : FileLayer::open(path, flags, mode);
  }
  ssize_t write(int file, std::string_view text) override {
    const bool now = calls_ == failing_call_;
    if (fault_ == Fault::error) return fails("write") ? -1 : FileLayer::write(file, text);
    const bool full = fault_ == Fault::full_disk && calls_++ > failing_call_;
    if (fault_ == Fault::short_write) ++calls_;
    if (full) {
      errno = code_;
      last_failed_ = "write";
      return -1;
    }
    return FileLayer::write(file, now && text.size() > 1 ? text.substr(0, text.size() / 2) : text);
  }
  int fsync(int file) override { return fails("fsync") ? -1 : FileLayer::fsync(file); }
  int close(int file) override {
    const bool failing = fails("close");
    const int saved = errno;
    const int result = FileLayer::close(file);  // As the system does: the descriptor is gone either way.
    errno = saved;
    return failing ? -1 : result;
  }
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return fails("rename") ? -1 : FileLayer::rename(from, to);
  }

 private:
  bool fails(const char* name) {
    if (calls_++ != failing_call_ || fault_ != Fault::error) return false;
    errno = code_;
    last_failed_ = name;
    return true;
  }

  std::size_t calls_ = 0;
  std::size_t failing_call_ = kNever;
  Fault fault_ = Fault::error;
  int code_ = 0;
  std::string last_failed_;
};

}  // namespace semfuse
