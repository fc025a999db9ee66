// The value head as a method of its own.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "generation/logit_source.h"
#include "generation/value_reader.h"
#include "semfuse/steering.h"

namespace semfuse {

// A text whose logits tilt by log-odds that are read off each step.
class TiltedText : public TextState {
 public:
  // Of tokens that may follow the tokens; `hidden` is the model's state.
  using NextLogOdds = std::function<void(std::span<const TokenId> tokens, std::span<const float> hidden,
                                         std::span<const TokenId> next, std::span<float> z)>;

  // `ends` must outlive it; the rest is as in tilt_by_value().
  TiltedText(NextLogOdds log_odds, std::span<const std::size_t> ends, double target, double share, double strength)
      : log_odds_(std::move(log_odds)), ends_(ends), target_(target), share_(share), strength_(strength) {}

  void add_readings(std::span<const TokenId> tokens, const RequestRows::Asked& asked,
                    std::vector<Reading>& readings) override;
  void combine(const SourcePlace& place, std::span<const ReadRows> readings) override;

 private:
  NextLogOdds log_odds_;
  std::span<const std::size_t> ends_;
  double target_;
  double share_;
  double strength_;
};

class ValueSource : public LogitSource {
 public:
  // For `model`, whose output rows it reads. Throws Error if the head is damaged.
  ValueSource(const LanguageModel& model, const SteeringHead& head, double target, double strength);
  std::unique_ptr<TextState> open(const ReadModel& model, const GenerationRequest& request) const override;

 private:
  ValueReader reader_;
  std::vector<std::size_t> ends_;
  double target_;
  double share_;
  double sureness_;
  double strength_;
};

}  // namespace semfuse
