// An imported model as a LanguageModel, for everything that generates.
#pragma once

#include <filesystem>

#include "semfuse/language_model.h"

namespace semfuse {

// `path` is what `semfuse import` wrote. The weights stay mapped. Throws Error (path: what; what to do).
LanguageModel load_imported(const std::filesystem::path& path);

}  // namespace semfuse
