// Trains judges: linear, on hashed n-grams, with probabilities that mean what they say.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "judge/judge_quality.h"
#include "judge/labelled_texts.h"
#include "judge/linear_judge.h"

namespace semfuse {

struct JudgeTrainingOptions {
  std::size_t passes = 6;     // Over the texts. More for few texts.
  double rate = 0.4;          // Of AdaGrad's steps.
  double decay = 2e-6;        // L2, on what a text touches. Raise it where training texts are judged much better.
  std::size_t min_count = 2;  // N-grams that fewer texts have are left out: noise, and most of the memory.
  double held_out = 0.1;      // Share of texts, by their hash, that decide how sure it may be, and measure it.
  std::uint64_t seed = 1;     // The order of the texts.
  std::function<void(double done)> on_progress = {};  // Told now and then how much is done, from 0 to 1.
};

struct TrainedJudge {
  LinearJudge judge;
  JudgeQuality quality;   // On the held-out texts.
  std::size_t texts = 0;  // That it was trained on.
};

// A function of its arguments. The weights are of all but the held-out texts; then they are scaled by one number, which
// makes the log loss of the held-out ones smallest (of a scalar: their squared error). `takes` says which texts take
// part (empty: all). Throws Error if there are too few, or all have one label.
TrainedJudge train_judge(const LabelledTexts& texts, const JudgeTrainingOptions& options = {},
                         const std::function<bool(std::size_t text)>& takes = {});

}  // namespace semfuse
