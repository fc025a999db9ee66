// Word vectors of files of texts, trained once and found again.
#pragma once

#include <filesystem>
#include <memory>

#include "data/preparation.h"
#include "features/word_vectors.h"

namespace semfuse {

// Of the training texts of `source`: those to validate with and those with held-out words are left out. Of more than 16
// MB a part is taken, from all over the files. Kept in `cache` as prepared data are. Throws Error.
std::shared_ptr<const WordVectors> prepare_vectors(const PreparationOptions& source, std::size_t width,
                                                   const std::filesystem::path& cache = default_cache());

}  // namespace semfuse
