// A GGUF file as a model: Llama or GPT-2, with the tokenizer that is inside.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "backbone/foreign_model.h"
#include "backbone/gguf_file.h"

namespace semfuse {

// Of a whole file, which must outlive the model. With `with_tokenizer` false the tokenizer inside is passed over,
// whatever it is. Throws Error.
ForeignModel parse_gguf_model(std::span<const std::byte> file, const std::string& origin, bool with_tokenizer = true);

}  // namespace semfuse
