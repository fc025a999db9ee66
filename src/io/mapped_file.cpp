#include "io/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "semfuse/error.h"

namespace semfuse {

MappedFile::MappedFile(const std::filesystem::path& path, std::size_t size) : size_(size) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto fail = [&](const std::string& what) {
    if (file >= 0) ::close(file);
    throw Error(fmt::format("{}: {}", path.string(), what));
  };
  if (file < 0) fail(fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) fail("is not a regular file");
  if (static_cast<std::size_t>(status.st_size) != size) {
    fail(fmt::format("has {} bytes instead of {}", status.st_size, size));
  }
  if (size > 0) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) fail(fmt::format("cannot map: {}", std::strerror(errno)));
    data_ = data;
    ::madvise(data, size, MADV_RANDOM);  // Training reads here and there: pages around what is asked for are of no use.
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<void*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace semfuse
