// Unpacks gzip and zstd while they are read.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "data/byte_source.h"

namespace semfuse {

enum class Packing { none, gzip, zstd };

// By the first bytes of a file; four tell.
Packing packing_of(std::span<const char> first_bytes);

// What `packed` unpacks to. Memory: 64 KiB and the archive's window, at most 128 MiB.
std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> packed, Packing packing, UnpackLimit limit);

}  // namespace semfuse
