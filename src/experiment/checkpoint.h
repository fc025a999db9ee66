// The part of loading a checkpoint that works on bytes in memory; for the fuzz target.
#pragma once

#include <string>

#include "io/tensor_archive.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

Checkpoint parse_checkpoint(const TensorArchive& archive, const std::string& origin);

}  // namespace semfuse
