// A GGUF file as a model: Llama or GPT-2, with the tokenizer that is inside.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "backbone/foreign_model.h"
#include "backbone/gguf_file.h"

namespace semfuse {

// Of a whole file, which must outlive the model. Throws Error.
ForeignModel parse_gguf_model(std::span<const std::byte> file, const std::string& origin);

}  // namespace semfuse
