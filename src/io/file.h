// Reads whole files, and writes them so that a reader never sees half of one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace semfuse {

inline constexpr std::size_t kNoSizeLimit = std::numeric_limits<std::size_t>::max();

// The bytes of a file or pipe. Throws Error if it is missing, a directory or a device, unreadable, or larger than
// max_size.
std::vector<std::byte> read_bytes(const std::filesystem::path& path, std::size_t max_size = kNoSizeLimit);

// The same as text, byte by byte.
std::string read_text(const std::filesystem::path& path, std::size_t max_size = kNoSizeLimit);

// Replaces the file by the pieces, end to end: writes a temporary file in the same folder, flushes it to the disk and
// renames it. On any failure (disk full, no such folder, ...) throws Error, keeps the old file and removes the
// temporary one.
void write_atomically(const std::filesystem::path& path, std::span<const std::string_view> pieces);
void write_atomically(const std::filesystem::path& path, std::string_view text);

}  // namespace semfuse
