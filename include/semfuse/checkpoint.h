// Saves a trained model, or a training that is to go on, in one safetensors file, and loads it again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "semfuse/experiment.h"
#include "semfuse/language_model.h"
#include "semfuse/trainer.h"

namespace semfuse {

// A model as a file holds it. The file says what the model is by itself: loading one reads no training configuration
// and draws no random number.
struct Checkpoint {
  LanguageModel model;
  std::string config;  // The experiment that trained the model, as TOML, unread; empty if the file does not say.
  std::string origin;  // The file, for messages.

  // Reads `config`, for who wants to know what the model was trained on. Throws Error if it is missing or damaged, or
  // describes another model.
  Experiment experiment() const;
  // The same, and nothing instead of an Error.
  std::optional<Experiment> find_experiment() const;
};

// Writes atomically: a file that was there stays whole until the new one is. The same model gives the same bytes.
// Throws Error, also if a weight is not finite.
void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const Experiment& experiment);
// The same for a model that was made from another one: `config` is that one's Checkpoint::config.
void save_checkpoint(const std::filesystem::path& path, const LanguageModel& model, const std::string& config);

// `path` is a .safetensors file or a run folder with a model.safetensors. Throws Error that names the file and what is
// wrong.
Checkpoint load_checkpoint(const std::filesystem::path& path);

// Saves everything that training needs to go on: weights, both moments, step, position in the data, experiment and
// vocabulary. `trainer` trains `model`. Writes atomically, with a checksum. Throws Error, also if a number is not
// finite.
void save_training(const std::filesystem::path& path, const LanguageModel& model, const Trainer& trainer,
                   const Experiment& experiment);

// Puts model and trainer, made from the same experiment, to where they were when they were saved: every further step
// gives the same bits as without the pause. Throws Error, and then changes neither, if the file is damaged or belongs
// to another configuration or vocabulary; the message names the field that differs.
void load_training(const std::filesystem::path& path, const Experiment& experiment, LanguageModel& model,
                   Trainer& trainer);

}  // namespace semfuse
