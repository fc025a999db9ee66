#include "data/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "data/builtin_corpora.h"
#include "data/packed_bytes.h"
#include "semfuse/error.h"

namespace semfuse {
namespace {

namespace fs = std::filesystem;

class FileBytes : public ByteSource {
 public:
  explicit FileBytes(const fs::path& path) : ByteSource(path.string()) {
    // Without O_NONBLOCK a pipe would be waited for before it can be refused.
    do {
      file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (file_ < 0 && errno == EINTR);
    if (file_ < 0) fail("open", errno);
    try {
      opened_ = status();
      if (S_ISDIR(opened_.st_mode)) throw Error(name() + ": is a directory; name a file");
      if (!S_ISREG(opened_.st_mode)) throw Error(name() + ": is not a regular file; copy it into one");
    } catch (const Error&) {
      ::close(file_);
      throw;
    }
  }
  ~FileBytes() override { ::close(file_); }

  std::uint64_t consumed() const override { return consumed_; }

  std::size_t read(std::span<char> bytes) override {
    ssize_t count;
    do {
      count = ::read(file_, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    if (count < 0) fail("read", errno);
    consumed_ += static_cast<std::uint64_t>(count);
    if (count == 0) refuse_changed();
    return static_cast<std::size_t>(count);
  }

 private:
  [[noreturn]] void fail(std::string_view verb, int code) const {
    throw Error(fmt::format("{}: cannot {}: {}; check the path and its permissions", name(), verb,
                            std::generic_category().message(code)));
  }

  struct stat status() const {
    struct stat status {};
    if (::fstat(file_, &status) != 0) fail("read", errno);
    return status;
  }

  void refuse_changed() const {
    const struct stat now = status();
    if (now.st_size != opened_.st_size || now.st_mtim.tv_sec != opened_.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != opened_.st_mtim.tv_nsec || static_cast<std::uint64_t>(now.st_size) != consumed_) {
      throw Error(name() + ": changed while it was read; use a copy that nobody writes to");
    }
  }

  int file_ = -1;
  struct stat opened_ {};
  std::uint64_t consumed_ = 0;
};

class MemoryBytes : public ByteSource {
 public:
  MemoryBytes(std::span<const char> bytes, std::string name) : ByteSource(std::move(name)), bytes_(bytes) {}

  std::uint64_t consumed() const override { return consumed_; }

  std::size_t read(std::span<char> bytes) override {
    const std::size_t count = std::min(bytes.size(), bytes_.size() - consumed_);
    if (count > 0) std::memcpy(bytes.data(), bytes_.data() + consumed_, count);
    consumed_ += count;
    return count;
  }

 private:
  std::span<const char> bytes_;
  std::size_t consumed_ = 0;
};

// Hands out again what was read to find out what the file is.
class PeekedBytes : public ByteSource {
 public:
  explicit PeekedBytes(std::unique_ptr<ByteSource> rest) : ByteSource(rest->name()), rest_(std::move(rest)) {
    while (size_ < first_.size()) {
      const std::size_t count = rest_->read(std::span(first_).subspan(size_));
      if (count == 0) break;
      size_ += count;
    }
  }

  std::span<const char> first() const { return std::span(first_).first(size_); }
  std::uint64_t consumed() const override { return rest_->consumed(); }

  std::size_t read(std::span<char> bytes) override {
    if (given_ == size_) return rest_->read(bytes);
    const std::size_t count = std::min(bytes.size(), size_ - given_);
    std::memcpy(bytes.data(), first_.data() + given_, count);
    given_ += count;
    return count;
  }

 private:
  std::unique_ptr<ByteSource> rest_;
  std::array<char, 4> first_{};
  std::size_t size_ = 0;
  std::size_t given_ = 0;
};

std::unique_ptr<ByteSource> unpacked_by_magic(std::unique_ptr<ByteSource> bytes, UnpackLimit limit) {
  auto peeked = std::make_unique<PeekedBytes>(std::move(bytes));
  const Packing packing = packing_of(peeked->first());
  const fs::path ending = fs::path(peeked->name()).extension();
  const Packing named = ending == ".gz" ? Packing::gzip : ending == ".zst" ? Packing::zstd : Packing::none;
  if (named != Packing::none && packing == Packing::none) {
    throw Error(fmt::format("{}: is called {} and is no such archive; rename it, or copy it again", peeked->name(),
                            ending.string()));
  }
  return unpacked(std::move(peeked), packing, limit);
}

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const fs::path& path, UnpackLimit limit) {
  if (const EmbeddedText* corpus = find_builtin_corpus(path)) {
    return unpacked_bytes(corpus->text, std::string(corpus->name), limit);
  }
  return unpacked_by_magic(std::make_unique<FileBytes>(path), limit);
}

std::unique_ptr<ByteSource> unpacked_bytes(std::span<const char> bytes, std::string name, UnpackLimit limit) {
  return unpacked_by_magic(std::make_unique<MemoryBytes>(bytes, std::move(name)), limit);
}

std::uint64_t size_of_bytes(const fs::path& path) {
  if (const EmbeddedText* corpus = find_builtin_corpus(path)) return corpus->text.size();
  std::error_code code;
  const std::uintmax_t size = fs::file_size(path, code);
  return code ? 0 : size;
}

}  // namespace semfuse
