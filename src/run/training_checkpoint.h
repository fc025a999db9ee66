// A training checkpoint in memory: a model with what its trainer needs to go on.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "io/file_layer.h"
#include "io/tensor_archive.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

inline constexpr std::string_view kTrainingFormat = "semfuse-training-2";
inline constexpr std::string_view kFirstTrainingFormat = "semfuse-training-1";  // Read, no longer written.

inline bool is_training_format(std::string_view format) {
  return format == kTrainingFormat || format == kFirstTrainingFormat;
}

// Movable, not copyable: the state's moments are views into the archive.
struct TrainingCheckpoint {
  TensorArchive archive;
  Checkpoint saved;
  TrainingState state;
};

void save_training_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const TrainingState& state,
                              const Experiment& experiment, FileLayer& files);

// Throws Error if the file is damaged, has no checksum, or is no training checkpoint.
TrainingCheckpoint load_training_checkpoint(const std::filesystem::path& path);

// The part that works on bytes in memory, for the fuzz target; the checksum may be missing.
TrainingCheckpoint parse_training_checkpoint(TensorArchive archive, const std::string& origin);

// As load_training() of the public header.
void resume_training(const TrainingCheckpoint& checkpoint, const std::string& origin, const Experiment& experiment,
                     LanguageModel& model, Trainer& trainer);

}  // namespace semfuse
