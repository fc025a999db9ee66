// Reads whole files, and writes them so that a reader never sees half of one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_layer.h"

namespace semfuse {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline constexpr std::size_t kNoSizeLimit = std::numeric_limits<std::size_t>::max();

// Whether something is at the path. Throws Error if that cannot be seen, as in a folder that nobody else may enter.
bool is_there(const std::filesystem::path& path);

// The bytes of a file or pipe. Throws Error if it is missing, a directory or a device, unreadable, or larger than
// max_size.
std::vector<std::byte> read_bytes(const std::filesystem::path& path, std::size_t max_size = kNoSizeLimit);

// The same as text, byte by byte.
std::string read_text(const std::filesystem::path& path, std::size_t max_size = kNoSizeLimit);

// What the name of a temporary file has after that of the file it is to become.
inline constexpr std::string_view kTemporaryMark = ".tmp-";

// Replaces the file by the pieces, end to end: writes a temporary file in the same folder, flushes it to the disk and
// renames it. On any failure (disk full, no such folder, ...) throws Error, keeps the old file and removes the
// temporary one; only if the folder cannot be flushed afterwards, the new file is in place all the same.
void write_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces,
                      FileLayer& files = FileLayer::system());
void write_atomically(const std::filesystem::path& path, std::string_view text, FileLayer& files = FileLayer::system());

// Takes the bytes that come next.
using ByteSink = std::function<void(std::string_view)>;

// The same for bytes that are not all there at once: `produce` hands them over piece by piece. What it throws counts as
// a failure and is passed on.
void write_atomically_by(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& produce,
                         FileLayer& files = FileLayer::system());

}  // namespace semfuse
