// A model as a folder of files that other programs read: model.safetensors, config.json, vocab.txt.
#pragma once

#include <filesystem>

#include "semfuse/checkpoint.h"

namespace semfuse {

// Makes the folder if it is missing. Throws Error if one of the files is there already or cannot be written.
void export_model(const std::filesystem::path& folder, const Checkpoint& checkpoint);

}  // namespace semfuse
