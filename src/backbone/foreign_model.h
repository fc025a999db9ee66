// A pretrained model as somebody else's files have it: found by content, described, its numbers still in the files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backbone/backbone_spec.h"
#include "core/storage_type.h"
#include "io/mapped_file.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// How a tensor is called in a file, and how here.
struct NamePair {
  std::string_view theirs;
  std::string_view ours;
};

// One of our tensors (TensorNeed) in a foreign file.
struct ForeignTensor {
  std::string name;  // Ours.
  std::size_t rows = 0;
  std::size_t columns = 0;
  bool is_matrix = true;
  StorageType type = StorageType::f32;
  std::span<const std::byte> bytes;  // Row after row, unless one of these says otherwise.

  // The file has the transpose: value (r, c) is number c * stride + first + r. Only plain types.
  bool is_transposed = false;
  std::size_t stride = 0;
  std::size_t first = 0;

  // `bytes` are int8 and every `group` of them, rows or not, has a float in `scales`; `type` has no meaning.
  std::size_t group = 0;
  std::span<const std::byte> scales;

  // The type that keeps every number as it is.
  StorageType lossless_type() const;
  // Numbers of `count` rows from `row` on, count * columns of them.
  void read_rows(std::size_t row, std::size_t count, std::span<float> numbers) const;
};

// Spans stay valid as long as the model, also when it is moved.
struct ForeignModel {
  std::string kind;   // "GGUF version 3".
  BackboneSpec spec;  // Without the hash, which takes a while: source_hash().
  std::vector<ForeignTensor> tensors;
  std::optional<Tokenizer> tokenizer;
  std::string tokenizer_source;  // Where it was found; if there is none, why.
  std::vector<std::shared_ptr<const MappedFile>> files;

  // SHA-256 of the files one after another.
  std::string source_hash() const;
};

// Opens a Hugging Face folder, a GGUF file or one of llama2.c's, whatever it is called. `tokenizer` names a file to
// read the tokenizer from; empty means the one inside or beside the model, if any. Throws Error (what is not supported
// by its name, and what is).
ForeignModel open_foreign_model(const std::filesystem::path& path, const std::filesystem::path& tokenizer = {});

// Looks like one of them: a folder with a config.json that says a model_type, or a file that begins as one. Reads
// little and throws nothing; imported models and our own are none.
bool looks_foreign(const std::filesystem::path& path);

}  // namespace semfuse
