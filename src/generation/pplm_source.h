// PPLM: at each token the keys and values of the past are moved along the gradient of a classifier.
#pragma once

#include <span>
#include <vector>

#include "core/workspace.h"
#include "generation/logit_source.h"
#include "semfuse/steering.h"

namespace semfuse {

// The classifier: log-odds of the label z = w · (mean hidden state) + b.
class MeanClassifier {
 public:
  // Throws Error if the head is of another width.
  MeanClassifier(const SteeringHead& head, std::size_t width);

  // With states whose sum is `sum` and one more, `hidden`, `count` in all; d_hidden becomes the gradient of the
  // cross-entropy against `target`, which is returned.
  double loss(std::span<const double> sum, std::span<const float> hidden, std::size_t count, double target,
              std::span<float> d_hidden) const;

 private:
  std::vector<float> weight_;
  float bias_;
};

// weight · KL(moved ‖ model) of two distributions by their logits; `moved` become its gradient.
double divergence(std::span<float> moved, std::span<const float> model, double weight);

// Logits of p ∝ moved^share · model^(1 - share), written over the model's.
void fuse_moved(std::span<float> model, std::span<const float> moved, double share);

class PplmSource : public LogitSource {
 public:
  // Throws Error if the head is damaged.
  PplmSource(const LanguageModel& model, const SteeringHead& head, double target, double strength);
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  MeanClassifier classifier_;
  AlignedFloats rows_;  // The output rows, packed for d_hidden = d_logits · rows.
  double target_;
  double strength_;
};

}  // namespace semfuse
