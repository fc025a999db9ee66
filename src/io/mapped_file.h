// A file of numbers that is read where it is: mapped into memory, not copied.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <span>

namespace semfuse {

// For files that nobody changes once they have their name; one that shrinks while it is read ends the program. Of large
// files the process keeps not much more than `most_kept` bytes at a time, all of them together, if note_read() is told
// what is read. Const functions may be called from several threads at once.
class MappedFile {
 public:
  static constexpr std::size_t kMostKept = std::size_t{64} << 20;

  MappedFile() = default;  // Empty.
  // Throws Error if the file cannot be read or has another size than `size` bytes.
  MappedFile(const std::filesystem::path& path, std::size_t size, std::size_t most_kept = kMostKept);
  // All of a regular file, whatever its size, to be read end to end or again and again: nothing is given back by
  // note_read(), and the system reads ahead. Throws Error.
  static MappedFile whole(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  // The bytes as numbers; what is left over at the end is not there.
  template <class T>
  std::span<const T> as() const {
    return {static_cast<const T*>(data_), size_ / sizeof(T)};
  }

  // These bytes are read now. Once there are too many, all pages are given back to the system, which has them still or
  // reads them again; spans stay valid.
  void note_read(std::size_t first, std::size_t count) const;

 private:
  void open(const std::filesystem::path& path, bool any_size, int advice);

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t most_kept_ = 0;
  mutable std::atomic<std::size_t> last_part_ = 0;  // Of the file, where something was read last,
  mutable std::atomic<std::size_t> num_parts_ = 0;  // and how often that was another part.
};

}  // namespace semfuse
