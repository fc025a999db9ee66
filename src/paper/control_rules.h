// The rules that the paper's controls become: steering and hard requests.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "semfuse/paper_controls.h"

namespace semfuse {

// What the controls know of each token of a vocabulary.
class ControlWords {
 public:
  ControlWords(const Vocabulary& vocabulary, const Lexicon& lexicon);

  // The class of the words that may stand there, if they have one. Throws Error without a grammar.
  std::string_view slot(const DecodingStep& step) const;

  // Calls visit(id, entry) for every token that is not ruled out and whose word has the class.
  template <class Visit>
  void for_each(std::span<const double> logits, std::string_view word_class, const Visit& visit) const {
    for (std::size_t id = 0; id < logits.size(); ++id) {
      if (logits[id] != -INFINITY && entries_[id].word_class == word_class) visit(id, entries_[id]);
    }
  }

 private:
  std::vector<std::size_t> classes_;
  std::vector<std::string> class_names_;
  std::vector<LexiconEntry> entries_;  // Empty ones of words that the lexicon lacks.
};

// Shifts the logits of intensifiers, adjectives and final marks in their slots.
class SteeringRule : public LogitRule {
 public:
  SteeringRule(const ControlOptions& controls, std::shared_ptr<const ControlWords> words)
      : controls_(controls), words_(std::move(words)) {}
  std::string_view name() const override { return "steering"; }
  RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  ControlOptions controls_;
  std::shared_ptr<const ControlWords> words_;
};

// Rules out adjectives of the other polarity and other final marks where a request is hard; where only adjectives may
// stand, draws them from the class mixture. Where nothing of what is asked for is allowed, it leaves the choice as it
// is.
class HardRequestRule : public LogitRule {
 public:
  HardRequestRule(const ControlOptions& controls, const SamplingOptions& sampling,
                  std::shared_ptr<const ControlWords> words)
      : controls_(controls), sampling_(sampling), words_(std::move(words)) {}
  std::string_view name() const override { return "hard requests"; }
  RuleOutcome apply(const DecodingStep& step, std::span<double> logits) const override;

 private:
  // Whether the request is hard in such a slot.
  bool is_hard(std::string_view slot) const;
  // Whether it asks for such a word there.
  bool wants(const LexiconEntry& entry) const;
  void mix(std::span<double> logits) const;

  ControlOptions controls_;
  SamplingOptions sampling_;
  std::shared_ptr<const ControlWords> words_;
};

}  // namespace semfuse
