// Binary cross-entropy between the features and what the feature head reads back.
#pragma once

#include "core/matrix_view.h"

namespace semfuse {

// Sum over the rows of the mean over the features. The logits become scale times their gradient.
double feature_reconstruction(Matrix logits, ConstMatrix features, float scale);

}  // namespace semfuse
