// Sources that other methods of the field are: each reads the text by its models and changes the first one's logits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "generation/logit_source.h"
#include "generation/prefix_classifier.h"
#include "semfuse/steering.h"

namespace semfuse {

// DExperts: logits += strength · (ln p_expert - ln p_anti).
void add_experts(std::span<float> logits, std::span<const float> expert, std::span<const float> anti, double strength);

class ExpertsSource : public LogitSource {
 public:
  ExpertsSource(std::shared_ptr<const LanguageModel> expert, std::shared_ptr<const LanguageModel> anti, double strength)
      : expert_(std::move(expert)), anti_(std::move(anti)), strength_(strength) {}
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  ReadModel expert_;
  ReadModel anti_;
  double strength_;
};

// GeDi. How much more probable each token is in one reading than in another, as a logarithm;
void log_ratios(std::span<const float> yes, std::span<const float> no, std::span<float> ratios);
// and the log-odds that the text is of the one kind if that token comes next: those of its likelihoods, times `scale`
// over the number of tokens. `so_far` is the sum of the ratios of the text itself.
void posterior_log_odds(std::span<const float> ratios, double so_far, std::size_t num_tokens, std::span<float> z,
                        double scale = 1.0);

class PosteriorSource : public LogitSource {
 public:
  // Rows of the model that is asked for both ends of a knob; null: the generator's own.
  PosteriorSource(std::shared_ptr<const ReadModel> model, std::vector<float> yes, std::vector<float> no, double target,
                  double strength, std::optional<double> scale)
      : model_(std::move(model)),
        yes_(std::move(yes)),
        no_(std::move(no)),
        target_(target),
        strength_(strength),
        scale_(scale) {}
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  std::shared_ptr<const ReadModel> model_;
  std::vector<float> yes_;
  std::vector<float> no_;
  double target_;
  double strength_;
  std::optional<double> scale_;
};

// FUDGE: as the value head, by a classifier of its own.
class FudgeSource : public LogitSource {
 public:
  FudgeSource(const LanguageModel& model, const SteeringHead& head, double target, double strength);
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  PrefixClassifier classifier_;
  std::vector<std::size_t> ends_;
  double target_;
  double share_;
  double strength_;
};

// LM-Steer: h + factor · W h before the output rows.
class SteerSource : public LogitSource {
 public:
  SteerSource(const LanguageModel& model, const SteeringHead& head, double target, double strength);
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  AlignedFloats map_;  // Packed.
  double factor_;
};

}  // namespace semfuse
