// How much memory a training will take.
#pragma once

#include "semfuse/experiment.h"

namespace semfuse {

// About, in bytes: the model with its gradients and moments, the sentences, their feature rows and labels. Computes it
// without making any of them.
double memory_need(const Experiment& experiment);

}  // namespace semfuse
