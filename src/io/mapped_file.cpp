#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {
namespace {

// Bytes of files that the process has in memory; as many as can be if the system does not say.
std::size_t mapped_bytes() {
  constexpr std::size_t kUnknown = static_cast<std::size_t>(-1);
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);  // "size resident shared ..." in pages.
  if (file < 0) return kUnknown;
  char text[128] = {};
  const ssize_t count = ::read(file, text, sizeof(text) - 1);
  ::close(file);
  unsigned long long shared = 0;
  if (count <= 0 || std::sscanf(text, "%*u %*u %llu", &shared) != 1) return kUnknown;
  return static_cast<std::size_t>(shared) * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, std::size_t size, std::size_t most_kept)
    : size_(size), most_kept_(most_kept) {
  // Training reads here and there: pages around what is asked for are of no use.
  open(path, false, MADV_RANDOM);
}

MappedFile MappedFile::whole(const std::filesystem::path& path) {
  MappedFile file;
  file.most_kept_ = static_cast<std::size_t>(-1);
  file.open(path, true, MADV_NORMAL);
  return file;
}

void MappedFile::open(const std::filesystem::path& path, bool any_size, int advice) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto fail = [&](const std::string& what) {
    if (file >= 0) ::close(file);
    throw Error(fmt::format("{}: {}", path.string(), what));
  };
  if (file < 0) fail(fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) fail("is not a regular file");
  if (any_size) size_ = static_cast<std::size_t>(status.st_size);
  if (static_cast<std::size_t>(status.st_size) != size_) {
    fail(fmt::format("has {} bytes instead of {}", status.st_size, size_));
  }
  if (size_ > 0) {
    void* data = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) fail(fmt::format("cannot map: {}", std::strerror(errno)));
    data_ = data;
    ::madvise(data, size_, advice);
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<void*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), most_kept_(other.most_kept_) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(most_kept_, other.most_kept_);
  return *this;
}

// How many pages a fault maps is up to the system, from one to hundreds, so what there is is asked for now and then.
void MappedFile::note_read(std::size_t first, std::size_t count) const {
  constexpr std::size_t kPart = std::size_t{64} << 10;
  constexpr std::size_t kPartsBetween = 4;
  if (size_ <= most_kept_ / 4) return;
  const std::size_t part = first / kPart;
  if (last_part_.load(std::memory_order_relaxed) == part && count <= kPart) return;
  last_part_.store(part, std::memory_order_relaxed);
  const std::size_t parts = 1 + count / kPart;
  if (num_parts_.fetch_add(parts, std::memory_order_relaxed) % kPartsBetween + parts < kPartsBetween) return;
  if (mapped_bytes() > most_kept_) ::madvise(const_cast<void*>(data_), size_, MADV_DONTNEED);
}

}  // namespace semfuse
