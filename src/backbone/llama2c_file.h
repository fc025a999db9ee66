// The model files of llama2.c: version 0 (a header of seven numbers), 1 (with a magic) and 2 (8-bit weights).
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "backbone/foreign_model.h"

namespace semfuse {

// Does the file begin as one of version 1 or later?
bool has_llama2c_magic(std::span<const std::byte> file);

// Of a whole file, which must outlive the model: spec and tensors, no tokenizer. A file without the magic is taken for
// version 0, and refused unless its size is exactly what its header says. Throws Error.
ForeignModel parse_llama2c(std::span<const std::byte> file, const std::string& origin);

}  // namespace semfuse
