// Trains word vectors on text, with the fastText library: skip-grams over words and their parts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "features/word_vectors.h"

namespace semfuse {

struct VectorTrainingOptions {
  std::size_t width = 50;
  std::uint64_t num_words = 0;  // Of the file, roughly: few words are read more often.
  // Called with the share that is done; returns false to stop, which is an Error.
  std::function<bool(double done)> on_progress = {};
};

// `file` has the words of a text a line, in lower case, with a space between. One thread and a fixed seed, so the same
// file gives the same bits; several would overwrite each other's numbers. Throws Error if no word occurs twice.
WordVectors train_word_vectors(const std::filesystem::path& file, const VectorTrainingOptions& options);

}  // namespace semfuse
