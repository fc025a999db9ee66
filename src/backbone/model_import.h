// Turns a foreign model into ours: one safetensors file with spec, tokenizer and tensors (docs/file_formats.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>

#include "backbone/foreign_model.h"
#include "io/file_layer.h"

namespace semfuse {

// What matrices are stored as. Those that have so few bits already stay as they are, and so do those whose rows are no
// whole blocks. With q4, embedding and head are q8_0: they matter most and cost little.
enum class Quantisation { none, q8, q4 };

struct ImportReport {
  std::size_t num_parameters = 0;
  std::size_t num_bytes = 0;                     // Of tensors, as written.
  std::map<StorageType, std::size_t> num_types;  // Matrices of each type.
  std::size_t num_kept = 0;                      // Matrices that were to be quantised and have no whole blocks.
};

// Bytes of tensors written and of all of them.
using ImportProgress = std::function<void(std::size_t done, std::size_t all)>;

// Writes folder/model.safetensors; the folder must be there. All tensors that the model needs must be there with the
// right shapes, and no others, or Error is thrown before anything is written. Memory stays within a few MB whatever the
// size.
ImportReport import_model(const ForeignModel& model, const std::filesystem::path& folder,
                          Quantisation quantisation = Quantisation::none, const ImportProgress& progress = {},
                          FileLayer& files = FileLayer::system());

// Throws Error (origin: what; what to do) unless the tensors are those that the spec needs, each once.
void check_tensors(const ForeignModel& model, const std::string& origin);

}  // namespace semfuse
