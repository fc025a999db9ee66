// The file with a model's tokenizer: which one it is, and what it says.
#pragma once

#include <filesystem>
#include <optional>

#include "backbone/foreign_model.h"

namespace semfuse {

// Takes the tokenizer from a file, known by its content: tokenizer.json, vocab.json (with merges.txt beside it), a
// SentencePiece .model, llama2.c's tokenizer.bin, or a GGUF file. Throws Error.
void use_tokenizer(ForeignModel& model, const std::filesystem::path& path);

// The same for the one that lies in the folder under a usual name; for llama2.c also tok512.bin and tok512.model if 512
// is the size of the vocabulary. Without any the model has no tokenizer.
void find_tokenizer(ForeignModel& model, const std::filesystem::path& folder);

// A tokenizer alone, of our own kinds too. Throws Error.
Tokenizer load_any_tokenizer(const std::filesystem::path& path);

}  // namespace semfuse
