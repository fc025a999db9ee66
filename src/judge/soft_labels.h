// Labels without noise: how probable each value of a text's label is, by a judge that has not seen the text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "data/preparation.h"

namespace semfuse {

inline constexpr std::size_t kFolds = 5;

// Which of the folds a text is in, by its text_hash().
std::size_t fold_of(std::uint64_t hash);

// Cross-fitted: for each knob of labels of columns and each fold of the training texts a judge is trained on the other
// folds, and asked about the texts of this one. Depends on files and options only, not on the threads. Throws Error as
// RecordReader does, and if there are too few labels.
SoftLabels cross_fitted_labels(const PreparationOptions& data);

}  // namespace semfuse
