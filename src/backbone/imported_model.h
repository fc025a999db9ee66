// A pretrained model in the file that `semfuse import` wrote: what it is, its tokenizer, and its tensors, mapped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "backbone/backbone_spec.h"
#include "backbone/backbone_tensors.h"
#include "io/mapped_archive.h"
#include "semfuse/tokenizer.h"

namespace semfuse {

// Metadata of the file.
inline constexpr const char* kBackboneKey = "semfuse.backbone";
inline constexpr const char* kTokenizerKey = "semfuse.tokenizer";
inline constexpr const char* kTypesKey = "semfuse.types";

// Immutable; spans stay valid as long as the model, also when it is moved.
class ImportedModel {
 public:
  // `path` is the file or its folder. Every tensor that the spec needs is there with its shape, and no other. Throws
  // Error (origin: what; what to do).
  explicit ImportedModel(const std::filesystem::path& path);

  // Is there such a file? Looks at its metadata only; false for anything else, also for what cannot be read.
  static bool is_at(const std::filesystem::path& path);

  const std::string& origin() const { return origin_; }
  const BackboneSpec& spec() const { return spec_; }
  // nullptr if the model came without one.
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }

  // By our names, as "layers.0.query"; nullptr if there is none, which only optional ones may be (TensorNeed).
  const StoredTensor* find(std::string_view name) const;
  // The same for those that must be there. Throws Error.
  const StoredTensor& tensor(std::string_view name) const;
  const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }

 private:
  void read_tensors();

  std::string origin_;
  MappedArchive archive_;
  BackboneSpec spec_;
  std::optional<Tokenizer> tokenizer_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace semfuse
