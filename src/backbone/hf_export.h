// Writes an imported model in Hugging Face's layout, which `transformers` loads.
#pragma once

#include <filesystem>
#include <string>

#include "backbone/imported_model.h"
#include "io/file_layer.h"

namespace semfuse {

// config.json as `transformers` reads it.
std::string hf_config_json(const ImportedModel& model);

// Writes folder/config.json, model.safetensors and, if there is a tokenizer, tokenizer.json and tokenizer_config.json.
// Matrices in blocks become F32, others stay as they are; queries and keys get the order of rows that rotary positions
// have there. Makes the folder if it is missing. Throws Error if one of the files is there already or cannot be
// written.
void export_hf_model(const ImportedModel& model, const std::filesystem::path& folder,
                     FileLayer& files = FileLayer::system());

}  // namespace semfuse
