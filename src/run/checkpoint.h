// The parts of saving and loading a model that training checkpoints and the fuzz target share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "io/tensor_archive.h"
#include "io/tensor_archive_writer.h"
#include "semfuse/checkpoint.h"

namespace semfuse {

inline constexpr std::string_view kModelFormat = "semfuse-2";
inline constexpr std::string_view kFirstModelFormat = "semfuse-1";  // Read, no longer written.

// What an archive must be: its format, and the prefixes under which it holds one tensor for each parameter.
struct ArchiveKind {
  std::string_view format = kModelFormat;
  std::string_view first_format = kFirstModelFormat;
  std::span<const std::string_view> prefixes = kPlain;

  static constexpr std::string_view kPlain[] = {""};
};

// Adds metadata and weights; `config` is the TOML of the experiment that trained the model. The model must outlive the
// writer. Throws Error if a weight is not finite.
void add_model(TensorArchiveWriter& writer, std::string_view format, const LanguageModel& model,
               const std::string& config);

// Throws Error that names the tensor if a number is not finite.
void require_finite(std::string_view name, std::span<const float> values);

Checkpoint parse_checkpoint(const TensorArchive& archive, const std::string& origin, const ArchiveKind& kind = {});

}  // namespace semfuse
