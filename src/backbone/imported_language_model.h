// An imported model as a LanguageModel, for everything that generates.
#pragma once

#include <filesystem>
#include <optional>

#include "backbone/backbone.h"
#include "semfuse/language_model.h"

namespace semfuse {

// A backbone's tokens with the ids of a LanguageModel.
struct BackboneTokens {
  Vocabulary vocabulary;
  std::optional<Tokenizer> tokenizer;  // None if the backbone came without.
};
BackboneTokens tokens_of(const Backbone& backbone);

// `path` is what `semfuse import` wrote. The weights stay mapped. Throws Error (path: what; what to do).
LanguageModel load_imported(const std::filesystem::path& path);

}  // namespace semfuse
