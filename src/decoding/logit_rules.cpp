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

// Rules out the words of the class that are not wanted, if one is.
template <class Wanted>
void restrict_class(const DecodingStep& step, std::span<double> logits, WordClass word_class, const Wanted& wanted) {
  bool any = false;
  for_each_of_class(step, logits, word_class,
                    [&](std::size_t, const LexiconEntry& entry) { any = any || wanted(entry); });
  if (!any) return;
  for_each_of_class(step, logits, word_class, [&](std::size_t id, const LexiconEntry& entry) {
    if (!wanted(entry)) logits[id] = -INFINITY;
  });
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

void HardRequestRule::apply(const DecodingStep& step, std::span<double> logits) const {
  if (!step.slot || controls_.soft_only) return;
  const double polarity = controls_.polarity();
  if (step.slot == WordClass::adjective && hard_polarity(controls_)) {
    restrict_class(step, logits, WordClass::adjective,
                   [&](const LexiconEntry& entry) { return entry.polarity * polarity > 0.0; });
  }
  if (step.slot == WordClass::punctuation) {
    const bool question = controls_.is_question > controls_.hard_above;
    const bool exclamation = polarity > controls_.hard_above && controls_.str_high > controls_.hard_above;
    if (!question && !exclamation) return;
    const std::string_view mark = question ? "?" : "!";
    restrict_class(step, logits, WordClass::punctuation, [&](const LexiconEntry& entry) { return entry.word == mark; });
  }
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
