// Saves a trained model with its experiment in one safetensors file, and loads it again.
#pragma once

#include <filesystem>

#include "semfuse/experiment.h"
#include "semfuse/language_model.h"

namespace semfuse {

struct Checkpoint {
  Experiment experiment;
  LanguageModel model;
};

// Writes atomically: a file that was there stays whole until the new one is. The same model gives the same bytes.
// Throws Error.
void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const Experiment& experiment);

// `path` is a .safetensors file or a run folder with a model.safetensors. Throws Error that names the file and what is
// wrong.
Checkpoint load_checkpoint(const std::filesystem::path& path);

}  // namespace semfuse
