// A new file that grows piece by piece, written in large blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "io/file_layer.h"

namespace semfuse {

class AppendFile {
 public:
  // Makes the file, which must not be there. Throws Error, as append() and finish() do, that names it and what the
  // system says: no room on the disk, ...
  explicit AppendFile(std::filesystem::path path, FileLayer& files = FileLayer::system());
  ~AppendFile();  // What was not finished is as far as it came.
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::span<const std::byte> bytes);
  template <class T>
  void append_all(std::span<const T> values) {
    append(std::as_bytes(values));
  }

  // Writes the rest, flushes it to the disk and closes the file.
  void finish();

  std::uint64_t size() const { return size_; }  // Bytes so far.

 private:
  void write_block();

  std::filesystem::path path_;
  FileLayer& files_;
  int file_;
  std::string block_;
  std::uint64_t size_ = 0;
};

}  // namespace semfuse
