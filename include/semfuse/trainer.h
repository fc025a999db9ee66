// Trains a language model: AdamW, warmup and cosine, label smoothing, the feature and the uniformity loss.
#pragma once

#include <cstdint>
#include <functional>

#include "semfuse/language_model.h"

namespace semfuse {

struct TrainingOptions {
  std::size_t epochs = 6;            // Passes over the training sentences.
  std::size_t batch = 64;            // Sentences a step.
  double learning_rate = 3e-4;       // The highest rate, reached at the end of the warmup.
  double warmup = 0.1;               // Share of all steps in which the rate rises linearly from 0; then a cosine down to 0.
  double weight_decay = 0.01;        // AdamW's decay, on every parameter.
  double beta1 = 0.9;                // AdamW's first moment.
  double beta2 = 0.999;              // AdamW's second moment.
  double epsilon = 1e-8;             // AdamW's epsilon.
  double clip_norm = 1.0;            // Largest norm of the whole gradient.
  double label_smoothing = 0.02;     // Share of a target spread over the whole vocabulary, in [0, 1).
  double feature_loss = 0.5;         // Weight of the loss that reads features back.
  double uniformity_loss = 0.01;     // Weight of the loss that spreads each adjective class evenly.
  bool count_end = true;             // Whether the position that reads <eos> and predicts <pad> counts, as in the authors' code.
};

}  // namespace semfuse
