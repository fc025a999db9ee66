// One training experiment of an independent PyTorch model: what goes in, what must come out (docs/file_formats.md).
#pragma once

#include <filesystem>
#include <string>

#include "batching/batch.h"
#include "io/tensor_archive.h"
#include "model/network.h"
#include "training/adamw.h"
#include "training/training_step.h"

namespace semfuse {

struct ParityCase {
  explicit ParityCase(const std::filesystem::path& path);

  // A number or word of the metadata; throws Error if missing or malformed.
  double number(const std::string& key) const;
  std::size_t size(const std::string& key) const;

  std::string origin;
  TensorArchive archive;
  ModelOptions model;
  std::size_t vocab_size = 0;
  std::size_t num_features = 0;
  std::size_t num_rows = 0;    // Of in.ids
  std::size_t row_length = 0;  // Of in.ids, padding included
  std::size_t num_steps = 0;
  LossOptions losses;
  AdamWOptions optimizer;
  Batch batch;
};

}  // namespace semfuse
