#include "decoding/logit_rules.h"

#include <algorithm>
#include <cmath>

namespace semfuse {

namespace {

// The paper's strengths of steering.
constexpr double kIntensifierShift = 1.2;
constexpr double kWantedAdjectiveShift = 6.0;
constexpr double kOtherAdjectiveShift = -3.0;
constexpr double kMarkShift = 2.8;

// The lexicon's entry of a token; null for special entries and words that the lexicon lacks.
const LexiconEntry* entry_of(const DecodingStep& step, std::size_t id) {
  return step.model.feature_bank().lexicon().find(step.model.vocabulary().entries()[id]);
}

// Calls visit(id, entry) for every token that is not ruled out and whose word has the class.
template <class Visit>
void for_each_of_class(const DecodingStep& step, std::span<const double> logits, WordClass word_class,
                       const Visit& visit) {
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (logits[id] == -INFINITY) continue;
    const LexiconEntry* entry = entry_of(step, id);
    if (entry != nullptr && entry->word_class == word_class) visit(id, *entry);
  }
}

}  // namespace

bool hard_polarity(const ControlOptions& controls) {
  return !controls.soft_only && std::abs(controls.polarity()) > controls.hard_above;
}

void SteeringRule::apply(const DecodingStep& step, std::span<double> logits) const {
  if (!step.slot) return;
  const double polarity = controls_.polarity();
  const double strength = std::max(controls_.str_high, controls_.str_med);
  for_each_of_class(step, logits, *step.slot, [&](std::size_t id, const LexiconEntry& entry) {
    double& logit = logits[id];
    switch (entry.word_class) {
      case WordClass::intensifier:
        if (controls_.active()) logit += kIntensifierShift * (0.5 + strength);
        break;
      case WordClass::adjective:
        if (entry.polarity != 0.0) {
          const bool wanted = entry.polarity * polarity > 0.0;
          logit += std::abs(polarity) * (wanted ? kWantedAdjectiveShift : kOtherAdjectiveShift);
        }
        break;
      case WordClass::punctuation:
        if (entry.word == "!") logit += kMarkShift * strength * std::max(0.0, polarity);
        if (entry.word == "?") logit += kMarkShift * controls_.is_question;
        break;
      default:
        break;
    }
  });
}

bool HardRequestRule::is_hard(const DecodingStep& step) const {
  if (controls_.soft_only) return false;
  if (step.slot == WordClass::adjective) return hard_polarity(controls_);
  if (step.slot != WordClass::punctuation) return false;
  return controls_.is_question > controls_.hard_above ||
         (controls_.polarity() > controls_.hard_above && controls_.str_high > controls_.hard_above);
}

bool HardRequestRule::wants(const LexiconEntry& entry) const {
  if (entry.word_class == WordClass::adjective) return entry.polarity * controls_.polarity() > 0.0;
  return entry.word == (controls_.is_question > controls_.hard_above ? "?" : "!");
}

bool HardRequestRule::can_be_met(const DecodingStep& step, std::span<const double> logits) const {
  if (!is_hard(step)) return true;
  bool any = false;
  bool only_commas = true;  // A comma is no final mark: nothing is asked of it.
  for_each_of_class(step, logits, *step.slot, [&](std::size_t, const LexiconEntry& entry) {
    any = any || wants(entry);
    only_commas = only_commas && entry.word == ",";
  });
  return any || only_commas;
}

void HardRequestRule::apply(const DecodingStep& step, std::span<double> logits) const {
  if (!is_hard(step)) return;
  bool any = false;
  for_each_of_class(step, logits, *step.slot,
                    [&](std::size_t, const LexiconEntry& entry) { any = any || wants(entry); });
  if (!any) return;
  for_each_of_class(step, logits, *step.slot, [&](std::size_t id, const LexiconEntry& entry) {
    if (!wants(entry)) logits[id] = -INFINITY;
  });
}

void RepetitionRule::apply(const DecodingStep& step, std::span<double> logits) const {
  const std::size_t count = std::min(options_.last_k, step.tokens.size());
  const auto recent = step.tokens.last(count);
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const bool repeated =
        std::find(recent.begin() + static_cast<std::ptrdiff_t>(i) + 1, recent.end(), recent[i]) != recent.end();
    if (!repeated) logits[static_cast<std::size_t>(recent[i])] -= std::log(options_.penalty);
  }
  if (recent.empty()) return;
  const auto last = static_cast<std::size_t>(recent.back());
  const LexiconEntry* entry = entry_of(step, last);
  if (entry != nullptr && entry->word_class == WordClass::punctuation) {
    logits[last] -= std::log(options_.punctuation_penalty);
  }
}

}  // namespace semfuse
