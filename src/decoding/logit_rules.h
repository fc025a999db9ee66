// The paper's rules: steering towards the controls, hard requests, the repetition penalty.
#pragma once

#include "semfuse/generator.h"

namespace semfuse {

// Shifts the logits of intensifiers, adjectives and final marks in their slots.
class SteeringRule : public LogitRule {
 public:
  explicit SteeringRule(const ControlOptions& controls) : controls_(controls) {}
  std::string_view name() const override { return "steering"; }
  void apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  ControlOptions controls_;
};

// Rules out adjectives of the other polarity and other final marks where a request is hard. Where nothing of what is
// asked for is allowed, it leaves the choice as it is.
class HardRequestRule : public LogitRule {
 public:
  explicit HardRequestRule(const ControlOptions& controls) : controls_(controls) {}
  std::string_view name() const override { return "hard requests"; }
  void apply(const DecodingStep& step, std::span<double> logits) const override;

  // False if a request is hard here and none of the words that are left is what it asks for.
  bool can_be_met(const DecodingStep& step, std::span<const double> logits) const;

 private:
  // Whether the request is hard in this slot.
  bool is_hard(const DecodingStep& step) const;
  // Whether it asks for such a word there.
  bool wants(const LexiconEntry& entry) const;

  ControlOptions controls_;
};

// Lowers the logits of recent tokens.
class RepetitionRule : public LogitRule {
 public:
  explicit RepetitionRule(const RepetitionOptions& options) : options_(options) {}
  std::string_view name() const override { return "repetition penalty"; }
  void apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  RepetitionOptions options_;
};

// Whether the controls demand one polarity of adjectives, and no other will do.
bool hard_polarity(const ControlOptions& controls);

}  // namespace semfuse
