// A file of numbers that is read where it is: mapped into memory, not copied.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace semfuse {

// For files that nobody changes once they have their name; one that shrinks while it is read ends the program.
class MappedFile {
 public:
  MappedFile() = default;  // Empty.
  // Throws Error if the file cannot be read or has another size than `size` bytes.
  MappedFile(const std::filesystem::path& path, std::size_t size);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // The bytes as numbers; what is left over at the end is not there.
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), size_ / sizeof(T)};
  }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace semfuse
