// One training experiment of an independent PyTorch model: what goes in, what must come out (docs/file_formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "batching/batch.h"
#include "io/tensor_archive.h"
#include "model/network.h"
#include "training/adamw.h"
#include "training/training_step.h"

namespace semfuse {

// A file may come from anyone: what it declares is compared with the tensors it holds before anything of that size is
// allocated. Once constructed, every tensor that the steps are compared with is there, has the model's shape and holds
// finite numbers. Throws Error as "origin: what; what to do".
struct ParityCase {
  explicit ParityCase(const std::filesystem::path& path);
  ParityCase(TensorArchive content, std::string name);

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
  double highest_rate = 0.0;
  std::uint64_t warmup_steps = 0;
  std::uint64_t total_steps = 0;
  Batch batch;
};

}  // namespace semfuse
