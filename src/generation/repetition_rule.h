// The penalty on words that were just said.
#pragma once

#include <optional>
#include <span>

#include "semfuse/generator.h"

namespace semfuse {

// Lowers the logits of recent tokens.
class RepetitionRule : public LogitRule {
 public:
  // `classes` of the vocabulary's entries are kept by reference.
  RepetitionRule(const RepetitionOptions& options, std::span<const std::size_t> classes)
      : options_(options), classes_(classes) {}
  std::string_view name() const override { return "repetition penalty"; }
  RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  RepetitionOptions options_;
  std::span<const std::size_t> classes_;
};

}  // namespace semfuse
