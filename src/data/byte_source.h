// The bytes of a person's file from first to last, unpacked if the file is compressed. Nothing is mapped into memory,
// since a file that shrinks under a mapping ends the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace semfuse {

// One pass over bytes. Not thread-safe.
class ByteSource {
 public:
  explicit ByteSource(std::string name) : name_(std::move(name)) {}
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // Fills a part of `bytes`, at least one byte; 0 at the end. Throws Error if the file cannot be read, changed since it
  // was opened, or is no whole archive.
  virtual std::size_t read(std::span<char> bytes) = 0;

  // How many bytes of the file itself were read, for a progress bar.
  virtual std::uint64_t consumed() const = 0;

  // What messages call it.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

// How far an archive may unpack: `grace` bytes, and `ratio` more for each byte of it that was read. Text shrinks to a
// tenth, a file made to fill a disk to a thousandth and less.
struct UnpackLimit {
  std::uint64_t grace = std::uint64_t{64} << 20;
  std::uint64_t ratio = 256;
};

// A regular file, or a corpus that the library carries; gzip and zstd are known by their first bytes, and may be
// several members end to end. Throws Error if there is no such file, it is a folder or a pipe, or is called .gz or .zst
// and is not.
std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path, UnpackLimit limit = {});

// The same of bytes in memory, which must outlive it.
std::unique_ptr<ByteSource> unpacked_bytes(std::span<const char> bytes, std::string name, UnpackLimit limit = {});

// How many bytes open_bytes() will consume; 0 if that is not known.
std::uint64_t size_of_bytes(const std::filesystem::path& path);

}  // namespace semfuse
