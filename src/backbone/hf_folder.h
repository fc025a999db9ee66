// A model in Hugging Face's layout: config.json and one or several safetensors files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "backbone/foreign_model.h"

namespace semfuse {

// config.json as a spec. Throws Error, by name, for families and variants that cannot be read.
BackboneSpec parse_hf_config(std::string_view json, std::string_view origin);

// Spec and tensors, no tokenizer. Throws Error.
ForeignModel open_hf_folder(const std::filesystem::path& folder);

// Which file has a tensor, by model.safetensors.index.json; names of files are names in the folder and nothing else.
// Throws Error.
std::vector<std::string> parse_hf_index(std::string_view json, std::string_view origin);

}  // namespace semfuse
